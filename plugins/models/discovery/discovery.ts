/** Finds the models of servers on the user's machine: on use only, with a short wait and a cache. */
import { AnySignal } from "@svc/kit/time";
import { type Clock, lazy } from "@svc/sdk";
import type { ModelsConfig } from "../config.ts";
import { knownServer } from "@svc/kit/providers";
import { localServers, type Server, serversOf } from "../catalogue/servers.ts";
import type { LocalModel } from "./local-servers.ts";

/** Choice: milliseconds until a server counts as absent, and for which a list waits for it. */
export const WAIT_MS = 300;
/** Choice: milliseconds for which found models are used, and for which an absent server is not looked for again. */
const KEPT_MS = 60_000;
const ABSENT_MS = 5_000;
/** Choice: milliseconds after which reading the facts of the models ends. */
const READ_MS = 10_000;

const readers = lazy(() => import("./local-servers.ts"));

export interface DiscoveryOptions {
  readonly clock: Pick<Clock, "now" | "setTimeout">;
  /** Default: Node's own. */
  readonly fetch?: typeof globalThis.fetch;
  /** `OLLAMA_HOST` and `SVC_SKIP_MODEL_DISCOVERY`. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
}

export interface Discovery {
  /** Servers that are looked for without being configured. */
  local(config: ModelsConfig): ReadonlyMap<string, Server>;
  /** Models found last, by provider. */
  read(): ReadonlyMap<string, readonly LocalModel[]>;
  /** Looks again unless it did a moment ago. Resolves when all servers have answered, at the latest after 300 ms. Never rejects. */
  refresh(config: ModelsConfig): Promise<void>;
  /** Makes the next refresh look again. */
  forget(): void;
}

interface Found {
  /** epoch ms */
  at: number;
  /** Address that was asked. */
  readonly origin: string;
  models: readonly LocalModel[] | undefined;
  /** Resolves when all facts were read, or reading has failed. */
  readonly done: Promise<void>;
}

export function createDiscovery({ clock, fetch = globalThis.fetch, env, signal }: DiscoveryOptions): Discovery {
  const found = new Map<string, Found>();
  const isOff = Boolean(env["SVC_SKIP_MODEL_DISCOVERY"]?.trim());
  const host = ollamaAddress(env["OLLAMA_HOST"]);
  const local = (config: ModelsConfig) =>
    isOff ? new Map<string, Server>() : localServers(config, host === undefined ? {} : { ollama: host });

  /** Configured servers without a list of models, and those that need no configuration. */
  function targets(config: ModelsConfig): [name: string, origin: string][] {
    const all = new Map([...local(config), ...serversOf(config)]);
    return [...all].flatMap(([name, { entry }]): [string, string][] =>
      entry.models || !knownServer(name)?.local || !entry.baseUrl || !URL.canParse(entry.baseUrl)
        ? []
        : [[name, new URL(entry.baseUrl).origin]],
    );
  }

  /** @param before models found earlier, which stay until the server has answered */
  function look(name: string, origin: string, before: Found["models"]): Found {
    const ending = new AnySignal(signal);
    let isAnswered = false;
    const end = clock.setTimeout(() => ending.abort(), READ_MS);
    let late = () => {};
    const entry: Found = { at: clock.now(), origin, models: before, done: work().finally(settle) };
    return entry;

    async function work(): Promise<void> {
      try {
        const { LOCAL_READERS } = await readers();
        late = clock.setTimeout(() => {
          if (!isAnswered) ending.abort();
        }, WAIT_MS);
        await LOCAL_READERS[name]?.(origin, { fetch, signal: ending.signal }, (models) => {
          isAnswered = true;
          entry.models = models;
        });
      } catch {
        if (!isAnswered) entry.models = undefined; // no such server, or one that is not of this kind
      }
    }
    function settle() {
      end();
      late();
      ending.release();
    }
  }

  return {
    local,
    read: () =>
      new Map([...found].flatMap(([name, { models }]) => (models === undefined ? [] : [[name, models] as const]))),
    async refresh(config) {
      if (signal.aborted) return;
      const wanted = new Map(targets(config));
      for (const name of found.keys()) if (!wanted.has(name)) found.delete(name);
      for (const [name, origin] of wanted) {
        const last = found.get(name);
        const keptMs = last?.models === undefined ? ABSENT_MS : KEPT_MS;
        if (last?.origin === origin && clock.now() - last.at < keptMs) continue;
        found.set(name, look(name, origin, last?.origin === origin ? last.models : undefined));
      }
      let over = () => {};
      const waited = new Promise<void>((resolve) => {
        over = clock.setTimeout(resolve, WAIT_MS);
      });
      await Promise.race([waited, Promise.all([...found.values()].map(({ done }) => done))]);
      over();
    },
    forget() {
      for (const entry of found.values()) entry.at = Number.NEGATIVE_INFINITY;
    },
  };
}

/** `OLLAMA_HOST` as an address: it may lack the scheme or the port; a server that listens everywhere is asked at 127.0.0.1. */
function ollamaAddress(host: string | undefined): string | undefined {
  const text = host?.trim();
  if (!text) return undefined;
  const url = /^https?:\/\//u.test(text) ? text : `http://${text.startsWith(":") ? `127.0.0.1${text}` : text}`;
  if (!URL.canParse(url)) return undefined;
  const { protocol, hostname, port } = new URL(url);
  const name = hostname === "0.0.0.0" || hostname === "[::]" ? "127.0.0.1" : hostname;
  return `${protocol}//${name}:${port || (text === url ? (protocol === "https:" ? "443" : "80") : "11434")}/v1`;
}
