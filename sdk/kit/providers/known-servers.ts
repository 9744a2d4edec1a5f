/** Public and local model servers that a configuration may name without an address, an API or a list of models. Data only. */

export interface KnownServer {
  readonly api: string;
  /** Absent: the default address of the API. */
  readonly baseUrl?: string;
  /** Environment variables that usually hold its key. They are reported, never used without being configured. */
  readonly env: readonly string[];
  /** It runs on the user's machine, and its list of models is read from it. */
  readonly local?: true;
}

const chat = (baseUrl: string, ...env: string[]): KnownServer => ({ api: "openai-completions", baseUrl, env });
const local = (port: number): KnownServer => ({ ...chat(`http://127.0.0.1:${port}/v1`), local: true });

/** By the usual name of the provider, which is also its name in `ModelFacts`. */
export const KNOWN_SERVERS: Readonly<Record<string, KnownServer>> = {
  "amazon-bedrock": { api: "bedrock-converse-stream", env: ["AWS_BEARER_TOKEN_BEDROCK"] },
  anthropic: { api: "anthropic-messages", env: ["ANTHROPIC_API_KEY"] },
  cerebras: chat("https://api.cerebras.ai/v1", "CEREBRAS_API_KEY"),
  deepseek: chat("https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
  fireworks: chat("https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY"),
  google: { api: "google-generative-ai", env: ["GEMINI_API_KEY", "GOOGLE_API_KEY"] },
  groq: chat("https://api.groq.com/openai/v1", "GROQ_API_KEY"),
  lmstudio: local(1234),
  mistral: chat("https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
  moonshot: chat("https://api.moonshot.ai/v1", "MOONSHOT_API_KEY"),
  ollama: local(11434),
  openai: chat("https://api.openai.com/v1", "OPENAI_API_KEY"),
  openrouter: chat("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
  qwen: chat("https://dashscope-intl.aliyuncs.com/compatible-mode/v1", "DASHSCOPE_API_KEY"),
  together: chat("https://api.together.xyz/v1", "TOGETHER_API_KEY"),
  vllm: local(8000),
  xai: chat("https://api.x.ai/v1", "XAI_API_KEY"),
};

/** The known server of this name; `undefined`: none. */
export function knownServer(name: string): KnownServer | undefined {
  return Object.hasOwn(KNOWN_SERVERS, name) ? KNOWN_SERVERS[name] : undefined;
}
