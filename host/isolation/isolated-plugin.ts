/**
 * A plugin that runs in a thread or process of its own, as the gateway sees it: a plugin like any other, whose setup declares
 * what the guest declared and whose handlers ask it.
 *
 * Each generation has a guest of its own, which ends with it: nothing of a former version stays in memory.
 */
import { join } from "node:path";
import {
  type Contract,
  definePlugin,
  type EventSpec,
  type Handlers,
  type HookSpec,
  type Live,
  type Plugin,
  type PluginGateway,
  type Principal,
  type ServiceToken,
  type TapOptions,
  Type,
} from "@svc/sdk";
import type { MissingPlugin, PluginSource } from "../kernel/load.ts";
import type { Lifeline } from "../kernel/lifeline.ts";
import type { GuestSide, HostSide, Recorded, StaticPart } from "./contract.ts";
import type { GuestOptions } from "./carriers.ts";
import type { Guest } from "./guest.ts";

export interface IsolationOptions {
  readonly placement: "worker" | "process";
  readonly memoryMb: number;
  /** State directory of the gateway. */
  readonly stateDir: string;
  /** What it compiles is kept here, apart from what others compile. */
  readonly cacheDir: string;
}

/** Milliseconds an import may take. Choice: as long as one in the gateway. */
const IMPORT_MS = 10_000;
/** Milliseconds a guest that was imported waits for its setup. */
const WARM_MS = 30_000;

/** The same plugin, elsewhere. @param source one with a package */
export function isolated(source: PluginSource, options: IsolationOptions): PluginSource {
  const { manifest } = source;
  const { placement, memoryMb } = options;
  if (!manifest) return source;
  const guest: GuestOptions = {
    id: manifest.id,
    placement,
    memoryMb,
    directory: manifest.directory,
    stateDir: join(options.stateDir, "plugins", manifest.id),
    permissions: manifest.permissions ?? {},
    task: { file: join(manifest.directory, manifest.entry), cacheDir: join(options.cacheDir, "guests", manifest.id) },
  };
  const elsewhere = (found: PluginSource | MissingPlugin) => ("load" in found ? isolated(found, options) : found);
  return {
    ...source,
    key: `${source.key} in a ${placement} of ${memoryMb} MiB`,
    placement,
    async load() {
      await source.check?.();
      const first = await importIn(guest);
      return isolatedPlugin(first, () => importIn(guest), memoryMb);
    },
    ...(source.again ? { again: () => elsewhere(source.again?.() ?? source) } : {}),
  };
}

/** A guest that has imported the plugin. */
interface Imported {
  readonly guest: Guest;
  readonly side: GuestSide;
  readonly part: StaticPart;
  /** Its calls run as this owner, once there is one. */
  readonly caller: { run: Lifeline["run"] };
}

/** @throws Error the plugin cannot be imported there */
async function importIn(options: GuestOptions): Promise<Imported> {
  // Most gateways have no such plugin.
  const [{ startCarrier }, { Guest }] = await Promise.all([import("./carriers.ts"), import("./guest.ts")]);
  const caller: Imported["caller"] = { run: (work) => work() };
  const guest = new Guest(options.id, startCarrier(options), {
    hasIdentity: isPrincipal,
    run: (work) => caller.run(work),
  });
  const late = setTimeout(() => guest.end(`not imported within ${IMPORT_MS} ms`), IMPORT_MS);
  try {
    const side = await guest.side();
    const part = await side.describe();
    refuseUnreachable(part);
    return { guest, side, part, caller };
  } catch (error) {
    guest.end();
    throw error;
  } finally {
    clearTimeout(late);
  }
}

/** Principals are minted by the gateway and known by being the very object. */
function isPrincipal(value: object): boolean {
  return "provenance" in value && "epoch" in value && "scopes" in value && "role" in value;
}

/** @throws Error it uses or gives a service that answers without waiting */
function refuseUnreachable({ id, requires, provides }: StaticPart): void {
  const tokens = [...Object.values(requires).map(({ token }) => token), ...provides];
  const wrong = tokens.find(({ remotable }) => remotable !== true);
  if (!wrong) return;
  throw new Error(
    `the service ${wrong.id} cannot be used from another thread or process: some of its methods answer without waiting; next: svc config set plugins.entries.${id}.run host`,
  );
}

function isolatedPlugin(first: Imported, again: () => Promise<Imported>, memoryMb: number): Plugin {
  const { part } = first;
  let warm: Imported | undefined = first;
  const cool = setTimeout(() => {
    warm?.guest.end();
    warm = undefined;
  }, WARM_MS);
  cool.unref();

  async function setup(gateway: PluginGateway, lifeline: Lifeline): Promise<void> {
    const imported = warm && !warm.guest.isOver ? warm : await again();
    warm = undefined;
    clearTimeout(cool);
    const { guest, side, caller } = imported;
    caller.run = (work) => lifeline.run(work);
    gateway.signal.addEventListener("abort", () => guest.end(), { once: true });
    if (gateway.signal.aborted) return guest.end();
    void guest.ended.then((reason) => {
      if (!gateway.signal.aborted) lifeline.died(new Error(reason));
    });
    lifeline.memory(() => guest.beat?.memoryBytes);
    const emits: ReturnType<PluginGateway["event"]>[] = [];
    const live = liveServices(part, gateway);
    guest.watch(side, memoryMb, live.changed);
    const recorded = await side.setup({
      config: gateway.config,
      sections: gateway.sections,
      stateDir: gateway.stateDir,
      services: { ...servicesOf(part, gateway), ...live.changed() },
      host: hostSide(gateway, lifeline, emits),
    });
    declare(gateway, { recorded, guest, emits });
  }

  return definePlugin({
    ...part,
    requires: Object.fromEntries(Object.entries(part.requires).map(([name, one]) => [name, requirementOf(one)])),
    setup: setup as Plugin["setup"], // the kernel passes the second argument
  } as Parameters<typeof definePlugin>[0]);
}

function requirementOf({ kind, token }: StaticPart["requires"][string]) {
  return kind === "service" ? token : { kind, token };
}

/** Hard and optional ones, as they were when this generation was set up. */
function servicesOf({ requires }: StaticPart, { services }: PluginGateway): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(requires)
      .filter(([, { kind }]) => kind !== "live")
      .map(([name]) => [name, services[name]]),
  );
}

/** Live ones, each time what is another one since the last time. */
function liveServices({ requires }: StaticPart, { services }: PluginGateway) {
  const told = new Map<string, unknown>();
  const names = Object.keys(requires).filter((name) => requires[name]?.kind === "live");
  return {
    changed: () =>
      Object.fromEntries(
        names.flatMap((name) => {
          const value = (services[name] as unknown as Live<unknown>).get(); // a live requirement
          if (told.has(name) && told.get(name) === value) return [];
          told.set(name, value);
          return [[name, value]];
        }),
      ),
  };
}

function hostSide(
  gateway: PluginGateway,
  lifeline: Lifeline,
  emits: readonly ReturnType<PluginGateway["event"]>[],
): HostSide {
  return {
    call: (name, params, principal) =>
      gateway.call(anyMethod(name), params, principal ? { principal: principal as Principal } : {}),
    emit: (event, payload, audience) => emits[event]?.(payload, audience),
    forward: (event, payload, connections) => gateway.forward(event, payload, connections),
    log: (level, fields, message) => gateway.log[level](fields, message),
    charge: (error, where) => lifeline.charge(error, where),
  };
}

/** Only its name is looked at. */
function anyMethod(name: string) {
  return { name, summary: "-", scope: "none", params: Type.Unknown(), result: Type.Unknown() } as const;
}

interface Declared {
  readonly recorded: Recorded;
  readonly guest: Guest;
  readonly emits: ReturnType<PluginGateway["event"]>[];
}

/** Declares what the guest declared. */
function declare(gateway: PluginGateway, { recorded, guest, emits }: Declared): void {
  for (const { method, handler } of recorded.methods) {
    const contract: Contract = { only: method };
    const handlers: Handlers<Contract> = {
      only: ({ params, principal, connection, signal, accept }) =>
        handler({ params, principal, connection, signal, accept }),
    };
    gateway.serve(contract, handlers);
  }
  for (const event of recorded.events) emits.push(gateway.event(event as EventSpec));
  for (const { handler, ...route } of recorded.routes) {
    gateway.route({
      ...route,
      handler: ({ method, path, params, query, headers, body, rawBody, principal, remoteAddress, signal }) => {
        const parts = { method, path, params, query, headers, body, rawBody, principal, remoteAddress, signal };
        return handler(parts as never); // the body matches the schema of the route
      },
    });
  }
  for (const { hook, key, options, handler } of recorded.taps) {
    const facade = gateway.hook(hook as HookSpec) as unknown as AnyFacade;
    const tappable = key === undefined ? facade : facade.for(key);
    tappable.tapPromise(options, (input, { key: of, signal }) => handler(input, { key: of, signal }));
  }
  for (const { token, value } of recorded.services) gateway.provide(token as ServiceToken<unknown>, value);
  for (const { point, id, value } of recorded.extensions) gateway.extend(point, id, value);
  for (const begin of recorded.starts) {
    gateway.start(async () => {
      const stop = await begin();
      return typeof stop === "function" ? () => (guest.isOver ? undefined : stop()) : undefined;
    });
  }
  const { configHandler } = recorded;
  if (configHandler) gateway.configChanged((config, sections) => configHandler(config, sections));
  if (recorded.hasBusyChecks) gateway.busy(() => guest.beat?.busy ?? false);
}

interface AnyFacade {
  for(key: string): AnyFacade;
  tapPromise(
    options: TapOptions,
    handler: (input: unknown, call: { key: string | undefined; signal: AbortSignal }) => Promise<unknown>,
  ): void;
}
