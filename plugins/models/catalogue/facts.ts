/** Finds the public facts about a model. Pure. */
import type { ModelFacts, ResolvedModel } from "@svc/sdk/models";

/** Facts about one model, as fields of a `ResolvedModel`. */
export type Fact = Partial<
  Pick<ResolvedModel, "contextWindow" | "maxTokens" | "input" | "reasoning" | "xhigh" | "cost" | "costAbove">
>;

interface Row {
  readonly id: string;
  readonly fact: Fact;
  readonly preferred: boolean;
  readonly old: boolean;
}

export interface FactBook {
  /**
   * @param place public server that serves the model; `undefined`: another server, whose prices are unknown
   * @param id the server's name of the model
   */
  find(place: string | undefined, id: string): Fact | undefined;
  /** Ids of the current models of a public server, a preferred one first. */
  offered(place: string): readonly string[];
  /** Names of all servers and vendors. */
  readonly places: readonly string[];
  /** Days of the facts, `YYYY-MM-DD`, oldest first. */
  readonly days: readonly string[];
}

/** Choice: maximum lines of a table; further lines are ignored. */
const MAX_ROWS = 5_000;

/** @param sources facts that plugins contribute; for a model in several of them, those of the latest day apply */
export function createFactBook(sources: readonly ModelFacts[]): FactBook {
  const places = new Map<string, Map<string, Row>>();
  const oldestFirst = [...sources].sort((a, b) => a.asOf.localeCompare(b.asOf, "en"));
  for (const { table } of oldestFirst) {
    for (const line of table.split("\n").slice(0, MAX_ROWS)) {
      const [place, row] = readRow(line) ?? [];
      if (place === undefined || row === undefined) continue;
      const rows = places.get(place) ?? new Map<string, Row>();
      places.set(place, rows.set(row.id, row));
    }
  }
  const at: Lookup = (place, id) => places.get(place)?.get(id)?.fact;
  return {
    find: (place, id) => {
      if (place === "openrouter") return routed(at, id);
      if (place === "amazon-bedrock") return inRegion(at, id);
      return place === undefined ? ofVendor(at, id) : dated(at, place, id);
    },
    offered: (place) =>
      [...(places.get(place)?.values() ?? [])]
        .filter(({ old }) => !old)
        .sort((a, b) => Number(b.preferred) - Number(a.preferred))
        .map(({ id }) => id),
    places: [...places.keys()],
    days: [...new Set(oldestFirst.map(({ asOf }) => asOf))],
  };
}

type Lookup = (place: string, id: string) => Fact | undefined;

/** `undefined` for a line that is not a row. */
function readRow(line: string): [place: string, row: Row] | undefined {
  const [place, id, window, limit, traits = "", ...prices] = line.trim().split(/\s+/u);
  if (place === undefined || id === undefined || prices.length < 4) return undefined;
  const has = (letter: string) => traits.includes(letter);
  const input = [has("t") && "text", has("i") && "image", has("d") && "document"].filter((kind) => kind !== false);
  const cost = pricesOf(prices.slice(0, 4));
  const above = pricesOf(prices.slice(5, 9));
  const tokens = Number(prices[4]);
  const fact: Fact = {
    ...tokensAs("contextWindow", window),
    ...tokensAs("maxTokens", limit),
    ...(input.length > 0 ? { input, reasoning: has("r") } : {}),
    ...(has("x") ? { xhigh: true } : {}),
    ...(cost ? { cost } : {}),
    ...(cost && above && tokens > 0 ? { costAbove: { tokens, ...above } } : {}),
  };
  return [place, { id, fact, preferred: has("p"), old: has("o") }];
}

function tokensAs(key: "contextWindow" | "maxTokens", column: string | undefined): Fact {
  const tokens = Number(column);
  return Number.isSafeInteger(tokens) && tokens > 0 ? { [key]: tokens } : {};
}

function pricesOf(columns: readonly string[]): Fact["cost"] {
  const [input, output, cacheRead, cacheWrite] = columns.map(Number);
  const all = [input, output, cacheRead, cacheWrite];
  if (!all.every((price) => Number.isFinite(price) && Number(price) >= 0)) return undefined;
  return { input, output, cacheRead, cacheWrite } as NonNullable<Fact["cost"]>; // four finite numbers, just checked
}

/** The facts without prices. */
function unpriced(fact: Fact | undefined): Fact | undefined {
  if (!fact) return undefined;
  const { cost: _cost, costAbove: _above, ...rest } = fact;
  return rest;
}

const DAY = /(?:-\d{8}|-\d{4}-\d{2}-\d{2}|@\d{8})$/u;

/**
 * A release of a model (`-20250929`, `-2025-08-07`) has the facts of the model. `-latest` moves to other models, so it has no
 * price; except at Anthropic, where it names a release.
 */
function dated(at: Lookup, place: string, id: string): Fact | undefined {
  const exact = at(place, id) ?? at(place, id.replace(DAY, ""));
  if (exact || !id.endsWith("-latest")) return exact;
  const base = at(place, id.slice(0, -"-latest".length));
  return place === "anthropic" ? base : unpriced(base);
}

/** Vendors in the ids of routers, and their names as servers. */
const VENDORS: ReadonlyMap<string, string> = new Map([
  ["anthropic", "anthropic"],
  ["openai", "openai"],
  ["google", "google"],
  ["x-ai", "xai"],
  ["xai", "xai"],
  ["deepseek", "deepseek"],
  ["mistralai", "mistral"],
  ["mistral", "mistral"],
  ["qwen", "qwen"],
  ["meta-llama", "meta-llama"],
]);

/** Vendors whose own prices OpenRouter charges. Models of the others run at several hosts with different prices. */
const PASSED_ON = new Set(["anthropic", "openai", "google", "xai"]);

/** `anthropic/claude-sonnet-4.5`, also with a variant as in `...:free`, which has another price. */
function routed(at: Lookup, id: string): Fact | undefined {
  const [name = id, variant] = id.split(":");
  const vendor = VENDORS.get(name.split("/")[0] ?? "");
  const found = vendor === undefined ? undefined : vendorFact(at, vendor, name.slice(name.indexOf("/") + 1));
  const own = at("openrouter", id);
  if (!found) return own;
  // A router reserves credit for the whole limit, so it is left to the server.
  const { maxTokens: _limit, ...rest } = found;
  return {
    ...(vendor !== undefined && PASSED_ON.has(vendor) && variant === undefined ? rest : unpriced(rest)),
    ...own,
  };
}

/** `us.anthropic.claude-sonnet-4-20250514-v1:0`. Prices depend on the region; those of the table are the global or US ones. */
function inRegion(at: Lookup, id: string): Fact | undefined {
  const [, region, name = id] = /^(?:(us|eu|apac|jp|au|ca|us-gov|global)\.)?(.+)$/u.exec(id) ?? [];
  const [, claude] = /^anthropic\.(.+?)(?:-v\d+(?::\w+)*)?$/u.exec(name) ?? [];
  const found = claude === undefined ? at("amazon-bedrock", name) : dated(at, "anthropic", claude);
  return region === (claude === undefined ? "us" : "global") ? found : unpriced(found);
}

/** The limits and inputs that the vendor states for a model that another server offers. */
function ofVendor(at: Lookup, id: string): Fact | undefined {
  const slash = id.indexOf("/");
  const vendor = slash > 0 ? VENDORS.get(id.slice(0, slash)) : undefined;
  if (vendor !== undefined) return unpriced(vendorFact(at, vendor, id.slice(slash + 1)));
  for (const name of new Set(VENDORS.values())) {
    const found = vendorFact(at, name, id);
    if (found) return unpriced(found);
  }
  return undefined;
}

/** Routers write `claude-sonnet-4.5` for `claude-sonnet-4-5`. */
function vendorFact(at: Lookup, vendor: string, id: string): Fact | undefined {
  return dated(at, vendor, vendor === "anthropic" ? id.replaceAll(".", "-") : id);
}

/**
 * The model with the facts that its configuration leaves out. Choice: an output limit of half of the window or more is left
 * out, since some servers reserve it for the answer and leave no room for the request. Prices are one field: a part of
 * a configured price is not completed.
 */
export function withFacts(model: ResolvedModel, fact: Fact | undefined): ResolvedModel {
  if (!fact) return model;
  const { maxTokens, cost, costAbove, ...rest } = fact;
  const window = model.contextWindow ?? fact.contextWindow ?? 0;
  const limit = maxTokens !== undefined && maxTokens * 2 < window ? { maxTokens } : {};
  const prices = model.cost || !cost ? {} : { cost, ...(costAbove ? { costAbove } : {}) };
  return { ...rest, ...limit, ...model, ...prices };
}
