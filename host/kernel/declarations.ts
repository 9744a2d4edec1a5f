/** What one `setup` declared, before anybody can see it. */
import type {
  Contract,
  EventSpec,
  ExtensionPoint,
  Handler,
  HookSpec,
  Method,
  Plugin,
  RouteSpec,
  ServiceToken,
  Stop,
  TapOptions,
} from "@svc/sdk";
import type { AnyHandler } from "../hooks/guard.ts";
import type { DeprecatedUses } from "./deprecations.ts";
import type { MethodTally, Owner } from "../hooks/owner.ts";

export interface MethodEntry {
  readonly method: Method;
  readonly handler: Handler<Method>;
  readonly owner: Owner;
  readonly tally: MethodTally;
}

export interface EventEntry {
  readonly event: EventSpec;
  readonly owner: Owner;
}

export interface RouteEntry {
  readonly route: RouteSpec;
  readonly owner: Owner;
}

export interface ExtensionEntry {
  readonly point: string;
  readonly id: string;
  readonly value: unknown;
  readonly owner: Owner;
}

export interface TapEntry {
  readonly spec: HookSpec;
  readonly key: string | undefined;
  readonly options: TapOptions;
  readonly handler: AnyHandler;
}

export interface Declarations {
  readonly owner: Owner;
  readonly plugin: Plugin;
  readonly methods: MethodEntry[];
  readonly events: EventEntry[];
  readonly routes: RouteEntry[];
  readonly services: { readonly token: ServiceToken<unknown>; readonly value: unknown }[];
  readonly extensions: ExtensionEntry[];
  readonly ownedPoints: ExtensionPoint<unknown>[];
  readonly emittedHooks: HookSpec[];
  readonly taps: TapEntry[];
  readonly starts: (() => void | Stop | Promise<void | Stop>)[];
  /** Takes changes of hot keys; absent: the plugin is reloaded for every change. */
  configHandler: ConfigHandler | undefined;
  readonly busyChecks: (() => boolean)[];
  readonly deprecated: DeprecatedUses;
}

export type ConfigHandler = (config: unknown, sections: Readonly<Record<string, unknown>>) => void | Promise<void>;

export function emptyDeclarations(owner: Owner, plugin: Plugin): Declarations {
  return {
    owner,
    plugin,
    methods: [],
    events: [],
    routes: [],
    services: [],
    extensions: [],
    ownedPoints: [],
    emittedHooks: [],
    taps: [],
    starts: [],
    configHandler: undefined,
    busyChecks: [],
    deprecated: new Map(),
  };
}

/** Entries of a contract, each with its handler. @throws Error naming the method that has no handler */
export function methodsOf(
  contract: Contract,
  handlers: Readonly<Record<string, unknown>>,
  owner: Owner,
): MethodEntry[] {
  return Object.entries(contract).map(([key, method]) => {
    const handler = handlers[key];
    if (typeof handler !== "function") throw new Error(`serve: no handler for "${key}" (${method.name})`);
    const tally = owner.tally.method(method.name);
    return { method, handler: handler.bind(handlers) as Handler<Method>, owner, tally };
  });
}
