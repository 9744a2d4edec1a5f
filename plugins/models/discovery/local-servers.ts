/** Reads the models of servers on the user's machine, in the APIs that state their context windows. */
import { unavailable } from "@svc/sdk";
import type { ResolvedModel } from "@svc/sdk/models";
import { boundedJson, entriesIn, fieldOf, modelId, tokenCount } from "./bounded-json.ts";

/** Choice: maximum bytes of a response, and models of a server. */
const MAX_BYTES = 2_000_000;
export const MAX_MODELS = 500;
/** Choice: models of one server that are read at the same time. */
const AT_ONCE = 4;

export type LocalModel = Pick<ResolvedModel, "id"> &
  Partial<Pick<ResolvedModel, "contextWindow" | "reasoning" | "input" | "cost">>;

export interface LocalReader {
  readonly fetch: typeof globalThis.fetch;
  readonly signal: AbortSignal;
}

type Read = (origin: string, reader: LocalReader, found: (models: readonly LocalModel[]) => void) => Promise<void>;

/**
 * By the name of the server. Each calls `found` with the ids as soon as they are known, and again with more facts.
 * @throws GatewayError `UNAVAILABLE` for a server that is not of this kind; errors of `fetch`
 */
export const LOCAL_READERS: Readonly<Record<string, Read>> = { ollama, lmstudio, vllm };

const FREE = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 } as const;

async function ollama(origin: string, reader: LocalReader, found: (models: readonly LocalModel[]) => void) {
  const body = await ask(`${origin}/api/tags`, reader);
  const models = idsOf(fieldOf(body, "models"), "name").map(asLocal);
  found(models);
  for (let at = 0; at < models.length; at += AT_ONCE) {
    const part = models.slice(at, at + AT_ONCE);
    const shown = await Promise.all(
      part.map(async (model) => ({ ...model, ...(await show(origin, model.id, reader)) })),
    );
    models.splice(at, AT_ONCE, ...shown);
    found([...models]);
  }
}

/** Choice: `-cloud` models of Ollama run on another machine and are not free. */
function asLocal(id: string): LocalModel {
  return /[:-]cloud$/u.test(id) ? { id } : { id, cost: FREE };
}

/** The facts of one model; none if the server does not state them. */
async function show(origin: string, model: string, reader: LocalReader): Promise<Partial<LocalModel>> {
  const body = await ask(`${origin}/api/show`, reader, { model }).catch((error: unknown) => {
    reader.signal.throwIfAborted();
    void error; // this model stays without facts
    return {};
  });
  const info = Object(fieldOf(body, "model_info")) as Readonly<Record<string, unknown>>; // `Object` accepts any value
  const trained = tokenCount(Object.entries(info).find(([key]) => key.endsWith(".context_length"))?.[1]);
  const parameters = fieldOf(body, "parameters");
  const [, set] = (typeof parameters === "string" && /^num_ctx\s+(\d+)/mu.exec(parameters)) || [];
  const used = tokenCount(Number(set));
  const window = trained !== undefined && used !== undefined ? Math.min(trained, used) : (used ?? trained);
  const abilities = entriesIn(fieldOf(body, "capabilities"), 20);
  return {
    ...(window === undefined ? {} : { contextWindow: window }),
    ...(abilities.length === 0
      ? {}
      : {
          input: abilities.includes("vision") ? ["text", "image"] : ["text"],
          reasoning: abilities.includes("thinking"),
        }),
  };
}

async function lmstudio(origin: string, reader: LocalReader, found: (models: readonly LocalModel[]) => void) {
  const body = await ask(`${origin}/api/v0/models`, reader);
  const entries = entriesIn(fieldOf(body, "data"), MAX_MODELS).filter(
    (entry) => fieldOf(entry, "type") !== "embeddings",
  );
  found(
    entries.flatMap((entry): LocalModel[] => {
      const id = modelId(fieldOf(entry, "id"));
      const window =
        tokenCount(fieldOf(entry, "loaded_context_length")) ?? tokenCount(fieldOf(entry, "max_context_length"));
      if (id === undefined) return [];
      const input = fieldOf(entry, "type") === "vlm" ? ["text", "image"] : ["text"];
      return [{ id, input, cost: FREE, ...(window === undefined ? {} : { contextWindow: window }) }];
    }),
  );
}

async function vllm(origin: string, reader: LocalReader, found: (models: readonly LocalModel[]) => void) {
  const body = await ask(`${origin}/v1/models`, reader);
  found(
    entriesIn(fieldOf(body, "data"), MAX_MODELS).flatMap((entry): LocalModel[] => {
      const id = modelId(fieldOf(entry, "id"));
      const window = tokenCount(fieldOf(entry, "max_model_len"));
      return id === undefined ? [] : [{ id, cost: FREE, ...(window === undefined ? {} : { contextWindow: window }) }];
    }),
  );
}

function idsOf(entries: unknown, key: string): string[] {
  const ids = entriesIn(entries, MAX_MODELS).map((entry) => modelId(fieldOf(entry, key)));
  return [...new Set(ids.filter((id) => id !== undefined))];
}

async function ask(url: string, { fetch, signal }: LocalReader, body?: object): Promise<unknown> {
  const question = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
  const headers = { accept: "application/json", ...(body === undefined ? {} : { "content-type": "application/json" }) };
  const response = await fetch(url, { ...question, headers, redirect: "error", signal });
  if (response.ok) return boundedJson(response, MAX_BYTES, url);
  await response.body?.cancel();
  return unavailable(`${url} returned ${response.status}`);
}
