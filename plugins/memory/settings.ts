/** The effective settings: the configuration with its defaults. Pure. Choice: all defaults; the spec has only the keys. */
import type { MemorySearch } from "@svc/sdk/memory";
import type { EndpointSettings } from "./embedding/endpoint.ts";
import type { HybridSettings } from "./search/hybrid.ts";

export interface MemorySettings {
  readonly enabled: boolean;
  readonly extraPaths: readonly string[];
  readonly endpoint?: EndpointSettings;
  readonly useExtension: boolean;
  readonly chunking: { readonly tokens: number; readonly overlap: number };
  readonly watch: boolean;
  readonly watchDebounceMs: number;
  readonly refreshOnSearch: boolean;
  /** 0: no periodic sync. */
  readonly intervalMinutes: number;
  readonly maxResults: number;
  readonly minScore: number;
  readonly hybrid: HybridSettings;
  readonly maxCached: number;
}

const SERVERS = {
  openai: { baseUrl: "https://api.openai.com/v1", model: "text-embedding-3-small" },
  ollama: { baseUrl: "http://127.0.0.1:11434/v1", model: "nomic-embed-text" },
} as const;

export function settingsOf(given: MemorySearch): MemorySettings {
  const { sync = {}, query = {}, cache = {} } = given;
  const tokens = given.chunking?.tokens ?? 400;
  return {
    enabled: given.enabled ?? true,
    extraPaths: given.extraPaths ?? [],
    ...endpointOf(given),
    useExtension: given.store?.vector?.enabled ?? true,
    chunking: { tokens, overlap: Math.min(given.chunking?.overlap ?? 80, Math.floor(tokens / 2)) },
    watch: sync.watch ?? true,
    watchDebounceMs: sync.watchDebounceMs ?? 1_500,
    refreshOnSearch: sync.onSearch ?? true,
    intervalMinutes: sync.intervalMinutes ?? 0,
    maxResults: query.maxResults ?? 6,
    minScore: query.minScore ?? 0,
    hybrid: hybridOf(query.hybrid ?? {}),
    maxCached: cache.enabled === false ? 0 : (cache.maxEntries ?? 50_000),
  };
}

function hybridOf(given: NonNullable<NonNullable<MemorySearch["query"]>["hybrid"]>): HybridSettings {
  const { mmr = {}, temporalDecay = {} } = given;
  return {
    enabled: given.enabled ?? true,
    vectorWeight: given.vectorWeight ?? 0.7,
    textWeight: given.textWeight ?? 0.3,
    candidateMultiplier: given.candidateMultiplier ?? 4,
    ...(mmr.enabled === true ? { mmrLambda: mmr.lambda ?? 0.7 } : {}),
    ...(temporalDecay.enabled === true ? { halfLifeDays: temporalDecay.halfLifeDays ?? 30 } : {}),
  };
}

/** No endpoint unless the configuration names a provider or a base URL. */
function endpointOf({ provider, remote, model }: MemorySearch): { endpoint?: EndpointSettings } {
  if (provider === undefined && remote?.baseUrl === undefined) return {};
  const kind = provider ?? "openai";
  const { baseUrl = SERVERS[kind].baseUrl, apiKey, headers = {} } = remote ?? {};
  const endpoint = {
    provider: kind,
    baseUrl: baseUrl.replace(/\/+$/, ""),
    model: model ?? SERVERS[kind].model,
    headers,
    ...(apiKey === undefined ? {} : { apiKey }),
  };
  return { endpoint };
}
