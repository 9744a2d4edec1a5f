/**
 * Facts about public models, from the documentation of their vendors; the README names the pages. Data only; the columns
 * are those of `ModelFacts`. A value that was not certain is `-`: prices that depend on the hour, a region or a
 * promotion, limits that the vendor does not state.
 */

/** Day on which the table was last checked. */
export const AS_OF = "2026-11-27";

export const TABLE = `
amazon-bedrock amazon.nova-2-lite-v1:0 1000000 - tidr - - - -
amazon-bedrock amazon.nova-lite-v1:0 300000 - tid 0.06 0.24 0.015 0
amazon-bedrock amazon.nova-micro-v1:0 128000 - t 0.035 0.14 0.00875 0
amazon-bedrock amazon.nova-premier-v1:0 1000000 - tid 2.5 12.5 0.625 0
amazon-bedrock amazon.nova-pro-v1:0 300000 - tidp 0.8 3.2 0.2 0
amazon-bedrock meta.llama3-1-70b-instruct-v1:0 128000 - to 0.72 0.72 0.72 0
amazon-bedrock meta.llama3-1-8b-instruct-v1:0 128000 - to 0.22 0.22 0.22 0
amazon-bedrock meta.llama3-3-70b-instruct-v1:0 128000 - t 0.72 0.72 0.72 0
anthropic claude-3-5-haiku 200000 8192 tido 0.8 4 0.08 1
anthropic claude-3-5-sonnet 200000 8192 tido 3 15 0.3 3.75
anthropic claude-3-7-sonnet 200000 64000 tidro 3 15 0.3 3.75
anthropic claude-3-haiku 200000 4096 tio 0.25 1.25 0.03 0.3
anthropic claude-3-opus 200000 4096 tio 15 75 1.5 18.75
anthropic claude-3-sonnet 200000 4096 tio 3 15 0.3 3.75
anthropic claude-fable-5 1000000 128000 tidr 10 50 1 12.5
anthropic claude-fable-5-1 1000000 128000 tidr 10 50 0.25 12.5
anthropic claude-fable-5-2 1000000 128000 tidr - - - -
anthropic claude-haiku-4-5 200000 64000 tidr 1 5 0.1 1.25
anthropic claude-haiku-5-5 1000000 128000 tidr 0.1 0.5 0.01 0.125 100000 0.5 2.5 0.05 0.625
anthropic claude-opus-4 200000 32000 tidro 15 75 1.5 18.75
anthropic claude-opus-4-0 200000 32000 tidro 15 75 1.5 18.75
anthropic claude-opus-4-1 200000 32000 tidro 15 75 1.5 18.75
anthropic claude-opus-4-5 200000 64000 tidr 5 25 0.5 6.25
anthropic claude-opus-4-6 1000000 128000 tidr 5 25 0.5 6.25
anthropic claude-opus-4-7 1000000 128000 tidr 5 25 0.5 6.25
anthropic claude-opus-4-8 1000000 128000 tidr 5 25 0.5 6.25
anthropic claude-opus-5 1000000 128000 tidr 5 25 0.5 6.25
anthropic claude-opus-5-5 1000000 128000 tidr 4 20 0.2 5
anthropic claude-sonnet-4 200000 64000 tidro 3 15 0.3 3.75
anthropic claude-sonnet-4-0 200000 64000 tidro 3 15 0.3 3.75
anthropic claude-sonnet-4-5 200000 64000 tidr 3 15 0.3 3.75
anthropic claude-sonnet-4-6 1000000 64000 tidr 3 15 0.3 3.75
anthropic claude-sonnet-5 1000000 128000 tidr 2 10 0.2 2.5
anthropic claude-sonnet-5-5 1000000 128000 tidrp 2 10 0.1 2.5
deepseek deepseek-v4-flash 1048576 393216 trp - - - -
deepseek deepseek-v4-pro 1048576 393216 tr - - - -
google gemini-2.0-flash 1048576 8192 tido 0.1 0.4 0.025 0
google gemini-2.0-flash-lite 1048576 8192 tido 0.075 0.3 0.075 0
google gemini-2.5-flash 1048576 65536 tidr 0.3 2.5 0.03 0
google gemini-2.5-flash-lite 1048576 65536 tidr 0.1 0.4 0.01 0
google gemini-2.5-pro 1048576 65536 tidr 1.25 10 0.125 0 200000 2.5 15 0.25 0
google gemini-3-flash-preview 1048576 65536 tidr 0.5 3 0.05 0
google gemini-3-pro-preview 1048576 65536 tidro 2 12 0.2 0 200000 4 18 0.4 0
google gemini-3.1-flash-lite 1048576 65536 tidr 0.25 1.5 0.025 0
google gemini-3.1-pro-preview 1048576 65536 tidr 2 12 0.2 0 200000 4 18 0.4 0
google gemini-3.5-flash 1048576 65536 tidr 1.5 9 0.15 0
google gemini-3.8-flash 1048576 65536 tidrp - - - -
groq llama-3.1-8b-instant 131072 131072 t 0.05 0.08 0.05 0
groq llama-3.3-70b-versatile 131072 32768 t 0.59 0.79 0.59 0
groq openai/gpt-oss-120b 131072 65536 trp 0.15 0.6 0.075 0
groq openai/gpt-oss-20b 131072 65536 tr 0.075 0.3 0.0375 0
meta-llama llama-3.1-405b-instruct 131072 - to - - - -
meta-llama llama-3.1-70b-instruct 131072 - to - - - -
meta-llama llama-3.1-8b-instruct 131072 - to - - - -
meta-llama llama-3.2-11b-vision-instruct 131072 - tio - - - -
meta-llama llama-3.2-3b-instruct 131072 - to - - - -
meta-llama llama-3.2-90b-vision-instruct 131072 - tio - - - -
meta-llama llama-3.3-70b-instruct 131072 - to - - - -
meta-llama llama-4-maverick 1048576 - tio - - - -
mistral codestral-2508 256000 - t 0.3 0.9 0.3 0
mistral ministral-14b-2512 262144 - ti 0.2 0.2 0.2 0
mistral ministral-3b-2512 131072 - ti 0.1 0.1 0.1 0
mistral ministral-8b-2512 262144 - ti 0.15 0.15 0.15 0
mistral mistral-large-2411 131072 - to 2 6 2 0
mistral mistral-large-2512 262144 - tip 0.5 1.5 0.5 0
mistral mistral-small-2506 131072 - ti 0.1 0.3 0.1 0
mistral open-mistral-nemo 131072 - to 0.15 0.15 0.15 0
mistral pixtral-large-2411 131072 - tio 2 6 2 0
openai gpt-3.5-turbo 16385 4096 to 0.5 1.5 0.5 0
openai gpt-4 8192 8192 to 30 60 30 0
openai gpt-4-turbo 128000 4096 tio 10 30 10 0
openai gpt-4.1 1047576 32768 tid 2 8 0.5 0
openai gpt-4.1-mini 1047576 32768 tid 0.4 1.6 0.1 0
openai gpt-4.1-nano 1047576 32768 tid 0.1 0.4 0.025 0
openai gpt-4o 128000 16384 tid 2.5 10 1.25 0
openai gpt-4o-2024-05-13 128000 4096 tio 5 15 5 0
openai gpt-4o-mini 128000 16384 tid 0.15 0.6 0.075 0
openai gpt-5 400000 128000 tidr 1.25 10 0.125 0
openai gpt-5-chat-latest 128000 16384 tio 1.25 10 0.125 0
openai gpt-5-codex 400000 128000 tiro 1.25 10 0.125 0
openai gpt-5-mini 400000 128000 tidr 0.25 2 0.025 0
openai gpt-5-nano 400000 128000 tidr 0.05 0.4 0.005 0
openai gpt-5-pro 400000 - tiro 15 120 15 0
openai gpt-5.1 400000 128000 tidr 1.25 10 0.125 0
openai gpt-5.1-codex 400000 128000 tiro 1.25 10 0.125 0
openai gpt-5.1-codex-max 400000 128000 tirxo 1.25 10 0.125 0
openai gpt-5.1-codex-mini 400000 128000 tiro 0.25 2 0.025 0
openai gpt-5.2 400000 128000 tidrx 1.75 14 0.175 0
openai gpt-5.2-codex 400000 128000 tirxo 1.75 14 0.175 0
openai gpt-5.2-pro 400000 128000 tirxo 21 168 21 0
openai gpt-5.3-codex 400000 128000 tirxo 1.75 14 0.175 0
openai gpt-5.4 1050000 128000 tidrx 2.5 15 0.25 0 272000 5 22.5 0.5 0
openai gpt-5.4-mini 400000 128000 tidrx 0.75 4.5 0.075 0
openai gpt-5.4-nano 400000 128000 tidrx 0.2 1.25 0.02 0
openai gpt-5.5 1050000 128000 tidrx 5 30 0.5 0 272000 10 45 1 0
openai gpt-5.6-luna 1050000 128000 tidrx 0.2 1.2 0.02 0.25 272000 0.4 1.8 0.04 0.5
openai gpt-5.6-sol 1050000 128000 tidrx - - - -
openai gpt-5.6-terra 1050000 128000 tidrx 2 12 0.2 2.5 272000 4 18 0.4 5
openai gpt-6-astra 1050000 128000 tidrx 10 50 1 12.5 272000 20 75 2 25
openai gpt-6-luna 1050000 128000 tidrx 0.1 0.5 0.01 0.125 272000 0.2 0.75 0.02 0.25
openai gpt-6-sol 1050000 128000 tidrxp 2 10 0.2 2.5 272000 4 15 0.4 5
openai o1 200000 100000 tidro 15 60 7.5 0
openai o1-pro 200000 100000 tiro 150 600 150 0
openai o3 200000 100000 tidro 2 8 0.5 0
openai o3-mini 200000 100000 tro 1.1 4.4 0.55 0
openai o3-pro 200000 100000 tiro 20 80 20 0
openai o4-mini 200000 100000 tidro 1.1 4.4 0.275 0
openrouter anthropic/claude-haiku-4.5 - - - - - - -
openrouter anthropic/claude-opus-4.5 - - - - - - -
openrouter anthropic/claude-opus-4.6 - - - - - - -
openrouter anthropic/claude-opus-5 - - - - - - -
openrouter anthropic/claude-opus-5.5 - - - - - - -
openrouter anthropic/claude-sonnet-4.5 - - - - - - -
openrouter anthropic/claude-sonnet-4.6 - - - - - - -
openrouter anthropic/claude-sonnet-5 - - - - - - -
openrouter anthropic/claude-sonnet-5.5 - - p - - - -
openrouter deepseek/deepseek-v4-flash - - - - - - -
openrouter deepseek/deepseek-v4-pro - - - - - - -
openrouter google/gemini-2.5-flash - - - - - - -
openrouter google/gemini-2.5-pro - - - - - - -
openrouter google/gemini-3.1-pro-preview - - - - - - -
openrouter google/gemini-3.5-flash - - - - - - -
openrouter meta-llama/llama-3.3-70b-instruct - - - - - - -
openrouter openai/gpt-4o-mini - - - - - - -
openrouter openai/gpt-5 - - - - - - -
openrouter openai/gpt-5-mini - - - - - - -
openrouter openai/gpt-5.4 - - - - - - -
openrouter openai/gpt-5.5 - - - - - - -
openrouter qwen/qwen3-coder - - - - - - -
openrouter x-ai/grok-4.5 - - - - - - -
qwen qwen2.5-72b-instruct 131072 - to - - - -
qwen qwen3-235b-a22b 131072 - tro - - - -
qwen qwen3-32b 131072 - tro - - - -
qwen qwen3-coder 262144 - to - - - -
qwen qwen3-coder-plus 1000000 - t - - - -
qwen qwen3-max 262144 - tp - - - -
together meta-llama/Llama-3.3-70B-Instruct-Turbo 131072 - tp 0.88 0.88 0.88 0
xai grok-3 131072 - to 3 15 0.75 0
xai grok-4 256000 - tiro 3 15 0.75 0 128000 6 30 1.5 0
xai grok-4.3 1000000 - tir 1.25 2.5 0.2 0 200000 2.5 5 0.4 0
xai grok-4.5 500000 - tidr 2 6 0.5 0 200000 4 12 1 0
xai grok-4.6 500000 - tidrp 2 6 0.5 0 200000 4 12 1 0
`.trim();
