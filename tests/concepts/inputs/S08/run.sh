vllm serve m --quantization awq_marlin --max-num-seqs 1024
