vllm serve m --block-size 4096 --max-model-len 2048
