/** How memory is searched: `agents.defaults.memorySearch`, `agents.list[].memorySearch`. Spec: http/config-keys.md, as far as it goes here. */
import { type Static, Strict, Type } from "../schema.ts";
import { SecretSetting } from "../secrets/service.ts";

/** Kinds of embeddings servers; both are asked for `POST <baseUrl>/embeddings`. */
export const EMBEDDING_PROVIDERS = ["openai", "ollama"] as const;

const flag = (description: string) => Type.Optional(Type.Boolean({ description }));
const text = (description: string) => Type.Optional(Type.String({ minLength: 1, description }));
const count = (description: string, bounds: { minimum?: number; maximum?: number } = {}) =>
  Type.Optional(Type.Integer({ minimum: 1, ...bounds, description }));
const share = (description: string) => Type.Optional(Type.Number({ minimum: 0, maximum: 1, description }));

/** Characters that make one path look like another, or end a line. */
const UNREADABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\\]/u;

/** Choice: a path has one meaning and one spelling, wherever the gateway was started. */
function isPlainAbsolute(path: string): boolean {
  const [first, ...steps] = path.split("/");
  return first === "" && steps.every((step) => !["", ".", ".."].includes(step)) && !UNREADABLE.test(path);
}

const Remote = Strict({
  baseUrl: Type.Optional(
    Type.String({
      pattern: "^https?://",
      description: "address of the embeddings server; default: that of the provider",
    }),
  ),
  apiKey: Type.Optional(SecretSetting({ description: "its key, or a reference to it; default: none is sent" })),
  headers: Type.Optional(
    Type.Record(Type.String(), Type.String({ sensitive: true }), { description: "sent with every request to it" }),
  ),
});

const Sync = Strict({
  watch: flag("changes of the files are noticed while the gateway runs; default true"),
  watchDebounceMs: count("quiet milliseconds after the last change; default 1500", { minimum: 0 }),
  onSearch: flag("each search looks for changed files first; default true"),
  // Choice: a year at most, beyond which timers overflow.
  intervalMinutes: count("minutes between looks for changed files; 0, the default: none", {
    minimum: 0,
    maximum: 525_600,
  }),
});

const Hybrid = Strict({
  enabled: flag("true, the default: by words and by meaning; false: by meaning alone, where there is a server for it"),
  vectorWeight: share("weight of the meaning; default 0.7"),
  textWeight: share("weight of the words; default 0.3"),
  candidateMultiplier: count("places looked at for each that is given; default 4", { maximum: 20 }),
  mmr: Type.Optional(
    Strict({
      enabled: flag("places that say the same as a better one move down; default false"),
      lambda: share("1: only what fits counts; 0: only what differs; default 0.7"),
    }),
  ),
  temporalDecay: Type.Optional(
    Strict({
      enabled: flag("notes with a date in their name count for less as they age; default false"),
      halfLifeDays: count("days after which one counts for half; default 30"),
    }),
  ),
});

/** Settings of one level; the defaults named are in force where neither level says anything. */
export const MemorySearch = Strict({
  enabled: flag("false: this memory cannot be searched; default true"),
  sources: Type.Optional(
    Type.Array(Type.Enum(["memory"]), {
      minItems: 1,
      description: "what is searched; `memory`, the default: MEMORY.md and the notes below memory/",
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
        description: "further .md files, or directories with such, for search and reading; default none",
      },
    ),
  ),
  provider: Type.Optional(
    Type.Enum([...EMBEDDING_PROVIDERS], {
      description:
        "server that tells what texts mean: openai is any with that API; default: none, or openai with remote",
    }),
  ),
  remote: Type.Optional(Remote),
  model: text("embedding model; default text-embedding-3-small, nomic-embed-text for ollama"),
  fallback: Type.Optional(
    Type.Enum(["none"], { description: "what else is asked when the server fails: nothing, words are searched" }),
  ),
  store: Type.Optional(
    Strict({
      vector: Type.Optional(
        Strict({
          enabled: flag("true, the default: sqlite-vec compares vectors where it can be loaded; false: slower"),
        }),
      ),
    }),
  ),
  chunking: Type.Optional(
    Strict({
      tokens: count("estimated tokens of a place; default 400", { minimum: 50, maximum: 4_000 }),
      overlap: count("tokens it shares with the one before; default 80, at most half of a place", { minimum: 0 }),
    }),
  ),
  sync: Type.Optional(Sync),
  query: Type.Optional(
    Strict({
      maxResults: count("places one search gives when it does not say; default 6", { maximum: 50 }),
      minScore: share("weaker places are left out when a search does not say; default 0"),
      hybrid: Type.Optional(Hybrid),
    }),
  ),
  cache: Type.Optional(
    Strict({
      enabled: flag("what a text means is kept, so that it is not asked for again; default true"),
      maxEntries: count("texts of which it is kept, those used last; default 50000"),
    }),
  ),
});
export type MemorySearch = Static<typeof MemorySearch>;
