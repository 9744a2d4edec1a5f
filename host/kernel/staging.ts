/** Builds what one `setup` gets in this gateway, from the parts of the host. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { type Audience, type Clock, type EventSpec, GatewayError, type Logger, type Principal } from "@svc/sdk";
import type { Recorder } from "./declared.ts";
import { describeDeprecated, noteDeprecated } from "./deprecations.ts";
import type { Generation } from "./generation.ts";
import { tokenOf } from "./graph.ts";
import type { Kinds } from "./kernel-hooks.ts";
import type { SetupContext, Staging } from "./kind.ts";
import { viewOf } from "./kinds/contributions.ts";
import { events } from "./kinds/events.ts";
import { services } from "./kinds/services.ts";
import { gatewayOf } from "./setup.ts";

/** What the host provides to plugins. */
export interface HostParts {
  readonly clock: Clock;
  readonly stateDir: string;
  /** Sends an event of a plugin to connections. */
  publish(event: EventSpec, payload: unknown, audience: Audience | undefined): void;
  /** Sends a copy of a published event: it does not raise the state version and emits no hook. */
  forward(event: EventSpec, payload: unknown, connections: readonly string[]): void;
  /** The principal for a call on behalf of `asked`: never more rights than `asked` was minted with, or than the plugin's `own`. */
  actingFor(asked: Principal, own: Principal): Principal;
  /** Calls a method without a connection. */
  invoke(method: string, params: unknown, principal: Principal): Promise<unknown>;
}

export interface StagingOptions {
  readonly host: HostParts;
  readonly kinds: Kinds;
  readonly generation: Generation;
  readonly recorder: Recorder;
  readonly log: Logger;
  /** Principal of the plugin's own calls. */
  readonly principal: Principal;
  /** Services of plugins that are set up and not yet committed, by id. */
  readonly stagedServices: ReadonlyMap<string, unknown>;
  died(error: Error): void;
  /** Stops the plugin and starts it again. */
  restart(reason: string): void;
}

export function stagingOf(options: StagingOptions): Staging {
  const { host, kinds, generation, recorder, log, principal, died, restart } = options;
  const { owner, config } = generation;
  const { plugin } = generation.code;
  const run = <T>(work: () => T) => owner.run(work);
  const failed = (error: unknown, where: string) => owner.charge(error, where);
  const context: SetupContext = {
    plugin,
    clock: host.clock,
    signal: owner.signal,
    isOpen: () => recorder.isOpen,
    run,
    failed,
    restart,
    publish: host.publish,
    forward: host.forward,
    emitter: (hook) => kinds.bus.emitter(hook),
    view: (point) => viewOf(kinds, point),
  };
  const gateway = gatewayOf({
    context,
    kinds: kinds.all,
    recorder,
    config,
    services: servicesOf(options),
    log,
    stateDir() {
      const directory = join(host.stateDir, "plugins", plugin.id);
      mkdirSync(directory, { recursive: true, mode: 0o700 });
      return directory;
    },
    call(method, params, asked) {
      if (owner.signal.aborted)
        return Promise.reject(new GatewayError("UNAVAILABLE", `plugin ${plugin.id} is stopping`));
      // The methods a plugin calls are unknown at its start: a deprecated one is logged at its first call.
      if (noteDeprecated(recorder.deprecated, `method ${method.name}`, method.deprecated))
        log.warn({ plugin: plugin.id }, `plugin ${plugin.id} uses ${describeDeprecated(recorder.deprecated).at(-1)}`);
      return host.invoke(method.name, params, asked ? host.actingFor(asked, principal) : principal);
    },
  });
  return {
    gateway,
    adopt(name, entry, remote) {
      const kind = kinds.named(name);
      recorder.record(kind, kind.adopt?.(entry, remote) ?? entry);
    },
    publish(name, payload, audience) {
      const declared = kinds.table(events).get(name);
      if (declared?.owner === owner && !owner.signal.aborted) host.publish(declared.event, payload, audience);
    },
    run,
    failed,
    died,
    measure: (read) => void (generation.memory = read),
  };
}

/** Current values of the required services, by the plugin's names; a live one is a handle. */
function servicesOf({ generation, kinds, stagedServices }: StagingOptions): Record<string, unknown> {
  const find = (id: string) => stagedServices.get(id) ?? kinds.table(services).get(id)?.value;
  return Object.fromEntries(
    Object.entries(generation.code.plugin.requires ?? {}).map(([name, requirement]) => {
      const { id } = tokenOf(requirement).token;
      const live = { get: () => kinds.table(services).get(id)?.value };
      return [name, requirement.kind === "live" ? live : find(id)];
    }),
  );
}
