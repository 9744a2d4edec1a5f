/**
 * Carries plugins that run in their own thread or process, the guest: their setup in the gateway declares what the guest declared, with
 * handlers that call the guest.
 *
 * Each generation has its own guest, which ends with it, so that no former version stays in memory.
 */
import { join } from "node:path";
import { lazy, type Live, type PluginGateway, type Requirement, type ServiceToken, Type } from "@svc/sdk";
import { tokenOf } from "../kernel/graph.ts";
import type { Carried, KernelHooks, PluginFacts, Remote, Staging } from "../kernel/kind.ts";
import type { GuestSide, HostSide, StaticPart } from "./contract.ts";
import type { GuestOptions } from "./carriers.ts";
import type { Guest } from "./guest.ts";

const guestCode = lazy(() => Promise.all([import("./carriers.ts"), import("./guest.ts")]));

export interface IsolationOptions {
  /** State directory of the gateway. */
  readonly stateDir: string;
  /** Parent of the guests' compile caches, separate from the gateway's own. */
  readonly cacheDir: string;
  /** Absolute paths of modules of further kinds of declaration. */
  readonly kinds: readonly string[];
}

/** Time limit of an import. ms. Choice: the same as in the gateway. */
const IMPORT_MS = 10_000;
/** Time a guest that has imported its plugin waits for the setup before it is ended. ms */
const WARM_MS = 30_000;

/** Taps `resolve` to carry sources placed in a thread or process. */
export function carryElsewhere({ resolve }: Pick<KernelHooks, "resolve">, options: IsolationOptions): void {
  resolve.tapPromise("elsewhere", async (source) => {
    const { manifest, elsewhere } = source;
    if (!manifest || !elsewhere) return undefined as never; // tapable's type lacks `undefined`, which passes to the next tap
    const { id, directory, entry, permissions = {} } = manifest;
    const guest: GuestOptions = {
      ...elsewhere,
      id,
      directory,
      permissions,
      stateDir: join(options.stateDir, "plugins", id),
      task: {
        file: join(directory, entry),
        cacheDir: join(options.cacheDir, "guests", id),
        kinds: options.kinds,
      },
    };
    await source.check?.();
    return carriedBy(guest, await importIn(guest));
  });
}

/** A guest that has imported the plugin. */
interface Imported {
  readonly guest: Guest;
  readonly side: GuestSide;
  readonly part: StaticPart;
  readonly plugin: PluginFacts;
  /** Runs its calls as the owner, once it has one. */
  readonly caller: { run: Staging["run"] };
}

/** @throws Error the plugin cannot be imported there */
async function importIn(options: GuestOptions): Promise<Imported> {
  // Imported on first use: most gateways have no such plugin.
  const [{ startCarrier }, { Guest }] = await guestCode();
  const caller: Imported["caller"] = { run: (work) => work() };
  const guest = new Guest(options.id, startCarrier(options), {
    hasIdentity: isPrincipal,
    run: (work) => caller.run(work),
  });
  const late = setTimeout(() => guest.end(`not imported within ${IMPORT_MS} ms`), IMPORT_MS);
  try {
    const side = await guest.side();
    const part = await side.describe();
    const plugin = factsOf(part);
    refuseUnreachable(plugin);
    return { guest, side, part, plugin, caller };
  } catch (error) {
    guest.end();
    throw error;
  } finally {
    clearTimeout(late);
  }
}

/** Principals are minted by the gateway and recognized by object identity. */
function isPrincipal(value: object): boolean {
  return "provenance" in value && "epoch" in value && "scopes" in value && "role" in value;
}

/** @throws Error it requires or provides a service with synchronous methods */
function refuseUnreachable(plugin: PluginFacts): void {
  const wrong = unreachableService(plugin);
  if (!wrong) return;
  throw new Error(`${unreachableText(wrong)}; next: svc config set plugins.entries.${plugin.id}.run host`);
}

export function unreachableText({ id }: ServiceToken<unknown>): string {
  return `the service ${id} cannot be used from another thread or process: some of its methods are synchronous`;
}

/** A service the plugin requires or provides that is not callable from another thread or process; `undefined`: none. */
export function unreachableService({ requires = {}, provides = [] }: PluginFacts): ServiceToken<unknown> | undefined {
  const tokens = [...Object.values(requires).map((requirement) => tokenOf(requirement).token), ...provides];
  return tokens.find(({ remotable }) => remotable !== true);
}

function carriedBy(options: GuestOptions, first: Imported): Carried {
  const { part, plugin } = first;
  let warm: Imported | undefined = first;
  const cool = setTimeout(() => {
    warm?.guest.end();
    warm = undefined;
  }, WARM_MS);
  cool.unref();

  async function setup(staging: Staging): Promise<void> {
    const { gateway } = staging;
    const imported = warm && !warm.guest.isOver ? warm : await importIn(options);
    warm = undefined;
    clearTimeout(cool);
    const { guest, side, caller } = imported;
    caller.run = (work) => staging.run(work);
    gateway.signal.addEventListener("abort", () => guest.end(), { once: true });
    if (gateway.signal.aborted) return guest.end();
    void guest.ended.then((reason) => {
      if (!gateway.signal.aborted) staging.died(new Error(reason));
    });
    staging.measure(() => guest.beat?.memoryBytes);
    const live = liveServices(part, gateway);
    guest.watch(side, options.memoryMb, live.changed);
    const recorded = await side.setup({
      config: gateway.config,
      sections: gateway.sections,
      stateDir: gateway.stateDir,
      services: { ...servicesOf(part, gateway), ...live.changed() },
      host: hostSide(staging),
    });
    const remote: Remote = { isBusy: () => guest.beat?.busy ?? false, isOver: () => guest.isOver };
    for (const [kind, entries] of Object.entries(recorded))
      for (const entry of entries) {
        staging.adopt(kind, entry, remote);
      }
  }

  return { plugin, setup };
}

function factsOf({ requires, ...rest }: StaticPart): PluginFacts {
  return {
    ...rest,
    requires: Object.fromEntries(Object.entries(requires).map(([name, one]) => [name, requirementOf(one)])),
  };
}

function requirementOf({ kind, token }: StaticPart["requires"][string]): Requirement {
  return kind === "service" ? token : { kind, token };
}

/** The hard and optional services, as they were at the setup of this generation. */
function servicesOf({ requires }: StaticPart, { services }: PluginGateway): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(requires)
      .filter(([, { kind }]) => kind !== "live")
      .map(([name]) => [name, services[name]]),
  );
}

/** The live services; `changed` returns those with another value since its last call. */
function liveServices({ requires }: StaticPart, { services }: PluginGateway) {
  const told = new Map<string, unknown>();
  const names = Object.keys(requires).filter((name) => requires[name]?.kind === "live");
  return {
    changed: () =>
      Object.fromEntries(
        names.flatMap((name) => {
          const value = (services[name] as unknown as Live<unknown>).get(); // a handle, for a live requirement
          if (told.has(name) && told.get(name) === value) return [];
          told.set(name, value);
          return [[name, value]];
        }),
      ),
  };
}

function hostSide({ gateway, publish, failed }: Staging): HostSide {
  return {
    call: (name, params, principal) => gateway.call(anyMethod(name), params, principal ? { principal } : {}),
    publish: (event, payload, audience) => charged(event, () => publish(event, payload, audience)),
    forward: (event, payload, connections) => charged(event.name, () => gateway.forward(event, payload, connections)),
    log: (level, fields, message) => gateway.log[level](fields, message),
    charge: failed,
    restart: (reason) => gateway.restart(reason),
  };

  function charged(event: string, send: () => void): void {
    try {
      send();
    } catch (error) {
      failed(error, `event ${event}`);
    }
  }
}

/** A method of which only the name is used. */
function anyMethod(name: string) {
  return { name, summary: "-", scope: "none", params: Type.Unknown(), result: Type.Unknown() } as const;
}
