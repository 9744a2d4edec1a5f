/**
 * Memory search settings: `agents.defaults.memorySearch`, `agents.list[].memorySearch`. Spec: http/config-keys.md, as
 * far as it covers them.
 */
import { type Static, Strict, Type } from "../schema.ts";
import { SecretSetting } from "../secrets/service.ts";

/** Kinds of embeddings servers; both serve `POST <baseUrl>/embeddings`. */
export const EMBEDDING_PROVIDERS = ["openai", "ollama"] as const;

const flag = (description: string) => Type.Optional(Type.Boolean({ description }));
const text = (description: string) => Type.Optional(Type.String({ minLength: 1, description }));
const count = (description: string, bounds: { minimum?: number; maximum?: number } = {}) =>
  Type.Optional(Type.Integer({ minimum: 1, ...bounds, description }));
const share = (description: string) => Type.Optional(Type.Number({ minimum: 0, maximum: 1, description }));

/** Characters that make one path look like another, or end a line. */
const UNREADABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\\]/u;

/** Choice: a path has one meaning and one spelling, independent of where the gateway was started. */
function isPlainAbsolute(path: string): boolean {
  const [first, ...steps] = path.split("/");
  return first === "" && steps.every((step) => !["", ".", ".."].includes(step)) && !UNREADABLE.test(path);
}

const Remote = Strict({
  baseUrl: Type.Optional(
    Type.String({
      pattern: "^https?://",
      description: "address of the embeddings server; default: the address of the provider",
    }),
  ),
  apiKey: Type.Optional(SecretSetting({ description: "API key, or a reference to it; default: none is sent" })),
  headers: Type.Optional(
    Type.Record(Type.String(), Type.String({ sensitive: true }), { description: "headers sent with every request" }),
  ),
});

const Sync = Strict({
  watch: flag("watch the files for changes; default true"),
  watchDebounceMs: count("milliseconds to wait after the last change; default 1500", { minimum: 0 }),
  onSearch: flag("check for changed files before each search; default true"),
  // Choice: at most one year; longer timers overflow.
  intervalMinutes: count("minutes between checks for changed files; 0, the default: none", {
    minimum: 0,
    maximum: 525_600,
  }),
});

const Hybrid = Strict({
  enabled: flag(
    "true, the default: keyword and semantic search; false: semantic search only, if an embeddings server is configured",
  ),
  vectorWeight: share("weight of semantic search; default 0.7"),
  textWeight: share("weight of keyword search; default 0.3"),
  candidateMultiplier: count("candidates considered per returned result; default 4", { maximum: 20 }),
  mmr: Type.Optional(
    Strict({
      enabled: flag("move near-duplicates of better results down; default false"),
      lambda: share("1: relevance only; 0: diversity only; default 0.7"),
    }),
  ),
  temporalDecay: Type.Optional(
    Strict({
      enabled: flag("lower the score of dated notes as they age; default false"),
      halfLifeDays: count("days after which the score is halved; default 30"),
    }),
  ),
});

/** Settings of one level; defaults apply if neither level sets a value. */
export const MemorySearch = Strict({
  enabled: flag("false: memory search is off; default true"),
  sources: Type.Optional(
    Type.Array(Type.Enum(["memory"]), {
      minItems: 1,
      description: "what to search; `memory`, the default: MEMORY.md and the notes below memory/",
    }),
  ),
  extraPaths: Type.Optional(
    Type.Array(
      Type.Refine(
        Type.String({ maxLength: 1_000, description: "absolute path" }),
        isPlainAbsolute,
        () => "must be an absolute path without `.`, `..` and empty steps, e.g. /srv/notes",
      ),
      {
        maxItems: 32,
        description: "further .md files, or directories containing such files, to search and read; default none",
      },
    ),
  ),
  provider: Type.Optional(
    Type.Enum([...EMBEDDING_PROVIDERS], {
      description: "embeddings server; openai is any server with that API; default: none, or openai if remote is set",
    }),
  ),
  remote: Type.Optional(Remote),
  model: text("embedding model; default text-embedding-3-small, nomic-embed-text for ollama"),
  fallback: Type.Optional(
    Type.Enum(["none"], { description: "fallback if the server fails; none: keyword search only" }),
  ),
  store: Type.Optional(
    Strict({
      vector: Type.Optional(
        Strict({
          enabled: flag(
            "true, the default: compare vectors with sqlite-vec if it can be loaded; false: use a slower comparison",
          ),
        }),
      ),
    }),
  ),
  chunking: Type.Optional(
    Strict({
      tokens: count("estimated tokens per chunk; default 400", { minimum: 50, maximum: 4_000 }),
      overlap: count("tokens shared with the previous chunk; default 80, at most half a chunk", { minimum: 0 }),
    }),
  ),
  sync: Type.Optional(Sync),
  query: Type.Optional(
    Strict({
      maxResults: count("default number of results per search; default 6", { maximum: 50 }),
      minScore: share("default minimum score of results; default 0"),
      hybrid: Type.Optional(Hybrid),
    }),
  ),
  cache: Type.Optional(
    Strict({
      enabled: flag("store embeddings, so that they are not requested again; default true"),
      maxEntries: count("most recently used embeddings to store; default 50000"),
    }),
  ),
});
export type MemorySearch = Static<typeof MemorySearch>;
