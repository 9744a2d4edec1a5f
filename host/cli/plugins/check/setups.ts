/** Writes down what a plugin's `setup` declares, and what it opens though it should not. */
import {
  type Contract,
  type EventSpec,
  type ExtensionPoint,
  HOOKS,
  type HookSpec,
  type Method,
  type Plugin,
  type PluginGateway,
  type RouteSpec,
} from "@svc/sdk";
import { openedBy } from "@svc/sdk/testing";

export interface Declared {
  readonly methods: Method[];
  readonly events: EventSpec[];
  readonly routes: RouteSpec[];
  readonly extensions: { readonly point: string; readonly id: string }[];
  readonly taps: { readonly hook: HookSpec; readonly key: string | undefined }[];
  readonly emits: HookSpec[];
  readonly owns: string[];
}

/** The setups of one plugin. */
export interface Setups {
  /** The same plugin, watched. */
  readonly plugin: Plugin;
  /** What the latest setup declared. */
  latest(): Declared;
  /** Kinds of resources that every setup so far has opened. */
  alwaysOpened(): readonly string[];
  readonly count: number;
}

export function watchSetups(plugin: Plugin): Setups {
  let latest = nothingYet();
  const opened: string[][] = [];
  return {
    plugin: {
      ...plugin,
      setup(gateway) {
        latest = nothingYet();
        const watched = watchedGateway(gateway, latest);
        return openedBy(
          () => plugin.setup(watched),
          (kinds) => void opened.push(kinds),
        );
      },
    },
    latest: () => latest,
    alwaysOpened() {
      const [first = [], ...others] = opened; // something else may begin meanwhile
      return first.filter((kind) => others.every((kinds) => kinds.includes(kind)));
    },
    get count() {
      return opened.length;
    },
  };
}

function nothingYet(): Declared {
  return { methods: [], events: [], routes: [], extensions: [], taps: [], emits: [], owns: [] };
}

/** Passes everything on. */
function watchedGateway(gateway: PluginGateway, record: Declared): PluginGateway {
  const watched: Partial<Record<keyof PluginGateway, unknown>> = {
    serve(contract: Contract, handlers: never) {
      record.methods.push(...Object.values<Method>(contract));
      gateway.serve(contract, handlers);
    },
    event(event: EventSpec) {
      record.events.push(event);
      return gateway.event(event);
    },
    route(route: RouteSpec) {
      record.routes.push(route);
      gateway.route(route);
    },
    extend(point: ExtensionPoint<unknown>, id: string, value: unknown) {
      record.extensions.push({ point: point.id, id });
      gateway.extend(point, id, value);
    },
    own(point: ExtensionPoint<unknown>) {
      record.owns.push(point.id);
      return gateway.own(point);
    },
    emits(hook: HookSpec) {
      record.emits.push(hook);
      return gateway.emits(hook);
    },
    hook: (hook: HookSpec) => watchedFacade(hook, gateway.hook(hook), record),
    hooks: Object.fromEntries(
      Object.entries<HookSpec>(HOOKS).map(([name, hook]) => [
        name,
        watchedFacade(hook, gateway.hooks[name as keyof typeof HOOKS], record),
      ]),
    ),
  };
  return new Proxy(gateway, {
    get: (target, key) => (key in watched ? watched[key as keyof PluginGateway] : Reflect.get(target, key)) as unknown,
  });
}

interface Tapper {
  tap(options: unknown, handler: unknown): void;
  tapPromise(options: unknown, handler: unknown): void;
}

function watchedFacade(hook: HookSpec, facade: unknown, record: Declared): unknown {
  const tapper = (key: string | undefined, { tap, tapPromise }: Tapper): Tapper => {
    const noting = (pass: Tapper["tap"]) => (options: unknown, handler: unknown) => {
      record.taps.push({ hook, key });
      pass(options, handler);
    };
    return { tap: noting(tap), tapPromise: noting(tapPromise) };
  };
  if (!hook.keyed) return tapper(undefined, facade as Tapper); // as the catalogue types it
  return { for: (key: string) => tapper(key, (facade as { for(key: string): Tapper }).for(key)) };
}
