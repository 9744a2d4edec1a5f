/** The `gateway` of a plugin that runs in a thread or process of its own: it records, and everything it lends is the host's. */
import {
  type Audience,
  type Contract,
  deepFreeze,
  type EventSpec,
  type GatewayHooks,
  type HookSpec,
  HOOKS,
  type Method,
  type Plugin,
  type PluginGateway,
  type Principal,
  type TapOptions,
} from "@svc/sdk";
import { systemClock } from "../clock.ts";
import type { Recorded, SetupParts } from "./contract.ts";

type Mutable<T> = { -readonly [K in keyof T]: T[K] extends readonly (infer I)[] ? I[] : T[K] };

export interface Recording {
  readonly gateway: PluginGateway;
  readonly recorded: Recorded;
  readonly busyChecks: readonly (() => boolean)[];
  /** Ends the time in which declarations are allowed. */
  seal(): void;
  /** These services are others now. */
  renew(live: Readonly<Record<string, unknown>>): void;
}

/** What cannot work away from the host, and why. */
const ONLY_IN_HOST = {
  own: "an extension point is asked for its contributions without waiting",
  emits: "a hook is emitted without waiting",
  trace: "it is called on hot paths, without waiting",
} as const;

export function recordingGateway(plugin: Plugin, parts: SetupParts, signal: AbortSignal): Recording {
  const { host, stateDir } = parts;
  const recorded: Mutable<Recorded> = {
    methods: [],
    events: [],
    routes: [],
    taps: [],
    services: [],
    extensions: [],
    starts: [],
    hasBusyChecks: false,
  };
  const busyChecks: (() => boolean)[] = [];
  const live = new Map(Object.entries(parts.services));
  let open = true;
  const declare = (what: string) => {
    if (!open) throw new Error(`plugin ${plugin.id}: ${what} is only allowed inside setup()`);
  };
  const refuse = (what: string, why: keyof typeof ONLY_IN_HOST): never => {
    const next = `next: svc config set plugins.entries.${plugin.id}.run host`;
    throw new Error(`${what} works in the gateway's own thread only: ${ONLY_IN_HOST[why]}; ${next}`);
  };
  const facade = (hook: HookSpec) => {
    const tapper = (key: string | undefined) => {
      const tap = (options: string | TapOptions, handler: never) => {
        declare(`tapping ${hook.name}`);
        if (hook.kind === "trace") refuse(`tapping ${hook.name}`, "trace");
        const named = typeof options === "string" ? { name: options } : options;
        recorded.taps.push({ hook, key, options: named, handler });
      };
      return { tap, tapPromise: tap };
    };
    return hook.keyed ? { for: tapper } : tapper(undefined);
  };
  const contained = (what: string, work: () => void | Promise<void>) => async () => {
    if (signal.aborted) return;
    try {
      await work();
    } catch (error) {
      host.charge(error, what);
    }
  };
  /** Begins with the plugin, or now; ends with it. */
  const timed = (begin: () => () => void) => {
    const alive = () => {
      const cancel = begin();
      signal.addEventListener("abort", cancel, { once: true });
    };
    if (open) recorded.starts.push(async () => alive());
    else if (!signal.aborted) alive();
  };
  const logTo = (level: "debug" | "info" | "warn" | "error") => (fields: object, message: string) =>
    host.log(level, fields, message);

  const gateway = {
    id: plugin.id,
    config: deepFreeze(parts.config),
    sections: deepFreeze(parts.sections),
    services: Object.freeze(
      Object.fromEntries(
        Object.entries(plugin.requires ?? {}).map(([name, { kind }]) => [
          name,
          kind === "live" ? { get: () => live.get(name) } : parts.services[name],
        ]),
      ),
    ),
    log: { debug: logTo("debug"), info: logTo("info"), warn: logTo("warn"), error: logTo("error") },
    clock: systemClock,
    stateDir,
    signal,
    hooks: Object.fromEntries(
      Object.entries(HOOKS).map(([name, hook]) => [name, facade(hook)]),
    ) as unknown as GatewayHooks,
    hook: facade,
    serve(contract: Contract, handlers: Record<string, unknown>) {
      declare("serve");
      for (const [key, method] of Object.entries(contract)) {
        const handler = handlers[key];
        if (typeof handler !== "function") throw new Error(`serve: no handler for "${key}" (${method.name})`);
        recorded.methods.push({ method, handler: handler.bind(handlers) as never });
      }
    },
    event(event: EventSpec) {
      declare("event");
      const number = recorded.events.push(event) - 1;
      return (payload: unknown, audience?: Audience) => {
        if (!signal.aborted) host.emit(number, payload, audience);
      };
    },
    forward(event: EventSpec, payload: unknown, connections: readonly string[]) {
      if (!signal.aborted && connections.length > 0) host.forward(event, payload, connections);
    },
    route(route: Recorded["routes"][number]) {
      declare("route");
      recorded.routes.push(route);
    },
    provide(token: Recorded["services"][number]["token"], value: unknown) {
      declare("provide");
      if (!plugin.provides?.some(({ id }) => id === token.id))
        throw new Error(`provide: list ${token.id} under "provides" first`);
      recorded.services.push({ token, value });
    },
    extend(point: Recorded["extensions"][number]["point"], id: string, value: unknown) {
      declare("extend");
      recorded.extensions.push({ point, id, value });
    },
    own: (point: { id: string }) => refuse(`owning the extension point ${point.id}`, "own"),
    emits: (hook: HookSpec) => refuse(`emitting the hook ${hook.name}`, "emits"),
    start(begin: Recorded["starts"][number]) {
      declare("start");
      recorded.starts.push(begin);
    },
    busy(check: () => boolean) {
      declare("busy");
      busyChecks.push(check);
      recorded.hasBusyChecks = true;
    },
    configChanged(handler: NonNullable<Recorded["configHandler"]>) {
      declare("configChanged");
      recorded.configHandler = handler;
    },
    every(ms: number, work: () => void | Promise<void>) {
      timed(() => systemClock.setInterval(() => void contained("every()", work)(), ms));
    },
    after(ms: number, work: () => void | Promise<void>) {
      timed(() => systemClock.setTimeout(() => void contained("after()", work)(), ms));
    },
    call(method: Method, params: unknown, options: { principal?: Principal } = {}) {
      if (open) throw new Error(`plugin ${plugin.id}: call() is only allowed from start() on`);
      return host.call(method.name, params, options.principal);
    },
  };
  return {
    gateway: gateway as unknown as PluginGateway, // one implementation for every plugin's types
    recorded,
    busyChecks,
    seal: () => void (open = false),
    renew(changed) {
      for (const [name, value] of Object.entries(changed)) live.set(name, value);
    },
  };
}
