vllm serve m --enable-lora --max-num-seqs 32
