/** The `gateway` a plugin's `setup` gets: it records declarations, and lends effects that die with the plugin. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import {
  type Audience,
  type Clock,
  type EventSpec,
  type ExtensionPoint,
  GatewayError,
  type GatewayHooks,
  HOOKS,
  type HookSpec,
  type Logger,
  type Method,
  type Plugin,
  type PluginGateway,
  type Principal,
  type TapOptions,
} from "@svc/sdk";
import type { AnyHandler } from "../hooks/guard.ts";
import type { HookBus } from "../hooks/hook-bus.ts";
import type { Owner } from "../hooks/owner.ts";
import { type ConfigHandler, type Declarations, emptyDeclarations, methodsOf } from "./declarations.ts";
import type { PluginConfig } from "./generation.ts";
import { describeDeprecated, noteDeprecated, noteMembers, noteRequirements } from "./deprecations.ts";
import { tokenOf } from "./graph.ts";
import type { Registry } from "./registry.ts";

/** What the host lends to plugins beside the registry. */
export interface Surroundings {
  readonly log: Logger;
  readonly clock: Clock;
  readonly hooks: HookBus;
  readonly registry: Registry;
  readonly stateDir: string;
  /** Sends an event of a plugin to connections. */
  publish(event: EventSpec, payload: unknown, audience: Audience | undefined): void;
  /** Sends a copy of one that was published: it raises no version and fires no hook. */
  forward(event: EventSpec, payload: unknown, connections: readonly string[]): void;
  /** Whom a call of a plugin is made for: never more than was minted, or than the plugin itself may do. */
  actingFor(asked: Principal, own: Principal): Principal;
  /** Calls a method from inside. */
  invoke(method: string, params: unknown, principal: Principal): Promise<unknown>;
}

/** One `setup` in progress. */
export interface Staging {
  readonly gateway: PluginGateway;
  readonly declarations: Declarations;
  /** Ends the time in which declarations are allowed. */
  seal(): void;
}

export interface StagingOptions {
  readonly plugin: Plugin;
  readonly owner: Owner;
  readonly config: PluginConfig;
  readonly principal: Principal;
  readonly surroundings: Surroundings;
  /** Services staged by plugins that go first, not committed yet. */
  readonly staged: ReadonlyMap<string, unknown>;
}

export function stagePlugin({ plugin, owner, config, principal, surroundings, staged }: StagingOptions): Staging {
  const { log, clock, hooks, registry, publish, invoke, actingFor } = surroundings;
  const declarations = emptyDeclarations(owner, plugin);
  const { deprecated } = declarations;
  noteRequirements(deprecated, plugin);
  let open = true;

  const declare = (what: string) => {
    if (!open) throw new Error(`plugin ${plugin.id}: ${what} is only allowed inside setup()`);
  };
  const facade = (spec: HookSpec) => {
    const tapper = (key: string | undefined) => {
      const tap = (options: string | TapOptions, handler: AnyHandler) => {
        declare(`tapping ${spec.name}`);
        noteDeprecated(deprecated, `hook ${spec.name}`, spec.deprecated);
        declarations.taps.push({
          spec,
          key,
          options: typeof options === "string" ? { name: options } : options,
          handler,
        });
      };
      return { tap, tapPromise: tap };
    };
    return spec.keyed ? { for: tapper } : tapper(undefined);
  };
  const service = (id: string) => staged.get(id) ?? registry.service(id);
  const services = Object.entries(plugin.requires ?? {}).map(([name, requirement]) => {
    const { token } = tokenOf(requirement);
    return [name, requirement.kind === "live" ? { get: () => registry.service(token.id) } : service(token.id)];
  });
  /** Runs repeated or delayed work as the plugin, contained. */
  const contained = (what: string, work: () => void | Promise<void>) => () => {
    if (owner.signal.aborted) return;
    try {
      const result = owner.run(work);
      if (result) result.catch((error: unknown) => owner.charge(error, what));
    } catch (error) {
      owner.charge(error, what);
    }
  };
  /** Begins something that ends by itself or with the plugin; `ended` is to be called in the first case. */
  const whileAlive = (begin: (ended: () => void) => () => void) => {
    const ended = () => owner.signal.removeEventListener("abort", cancel);
    const cancel = begin(ended);
    owner.signal.addEventListener("abort", cancel, { once: true });
  };

  const gateway = {
    id: plugin.id,
    config: config.value,
    sections: config.sections,
    services: Object.freeze(Object.fromEntries(services)),
    log,
    clock,
    signal: owner.signal,
    get stateDir() {
      const directory = join(surroundings.stateDir, "plugins", plugin.id);
      mkdirSync(directory, { recursive: true, mode: 0o700 });
      return directory;
    },
    hooks: Object.fromEntries(
      Object.entries(HOOKS).map(([name, spec]) => [name, facade(spec)]),
    ) as unknown as GatewayHooks,
    hook: facade,

    serve(contract: Record<string, Method>, handlers: Record<string, unknown>) {
      declare("serve");
      declarations.methods.push(...methodsOf(contract, handlers, owner));
    },
    event(event: EventSpec) {
      declare("event");
      declarations.events.push({ event, owner });
      return (payload: unknown, audience?: Audience) => {
        if (!owner.signal.aborted) publish(event, payload, audience);
      };
    },
    forward(event: EventSpec, payload: unknown, connections: readonly string[]) {
      if (!owner.signal.aborted && connections.length > 0) surroundings.forward(event, payload, connections);
    },
    route(route: Declarations["routes"][number]["route"]) {
      declare("route");
      declarations.routes.push({ route, owner });
    },
    provide(token: { kind: "service"; id: string; version: string }, value: unknown) {
      declare("provide");
      if (!plugin.provides?.some(({ id }) => id === token.id))
        throw new Error(`provide: list ${token.id} under "provides" first`);
      declarations.services.push({ token, value });
    },
    extend(point: ExtensionPoint<unknown>, id: string, value: unknown) {
      declare("extend");
      noteDeprecated(deprecated, `extension point ${point.id}`, point.deprecated);
      declarations.extensions.push({ point: point.id, id, value, owner });
    },
    own(point: Declarations["ownedPoints"][number]) {
      declare("own");
      declarations.ownedPoints.push(point);
      return registry.view(point.id);
    },
    emits(spec: HookSpec) {
      declare("emits");
      declarations.emittedHooks.push(spec);
      return hooks.emitter(spec);
    },
    start(begin: Declarations["starts"][number]) {
      declare("start");
      declarations.starts.push(begin);
    },
    busy(check: () => boolean) {
      declare("busy");
      declarations.busyChecks.push(check);
    },
    configChanged(handler: ConfigHandler) {
      declare("configChanged");
      declarations.configHandler = handler;
    },
    every(ms: number, work: () => void | Promise<void>) {
      const begin = () => whileAlive(() => clock.setInterval(contained("every()", work), ms));
      if (open) declarations.starts.push(begin);
      else if (!owner.signal.aborted) begin();
    },
    after(ms: number, work: () => void | Promise<void>) {
      const run = contained("after()", work);
      const begin = () => whileAlive((ended) => clock.setTimeout(() => (ended(), run()), ms));
      if (open) declarations.starts.push(begin);
      else if (!owner.signal.aborted) begin();
    },
    call(method: Method, params: unknown, options: { principal?: Principal } = {}) {
      if (open) throw new Error(`plugin ${plugin.id}: call() is only allowed from start() on`);
      if (owner.signal.aborted)
        return Promise.reject(new GatewayError("UNAVAILABLE", `plugin ${plugin.id} is stopping`));
      // Not known at the start: named when it happens.
      if (noteDeprecated(deprecated, `method ${method.name}`, method.deprecated))
        log.warn({ plugin: plugin.id }, `plugin ${plugin.id} uses ${describeDeprecated(deprecated).at(-1)}`);
      return invoke(method.name, params, options.principal ? actingFor(options.principal, principal) : principal);
    },
  };
  return {
    gateway: noteMembers(gateway, deprecated) as unknown as PluginGateway, // one implementation for every plugin's types
    declarations,
    seal: () => {
      open = false;
    },
  };
}
