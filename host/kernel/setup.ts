/** Builds the `gateway` argument of `setup`, the same in every carrier: the members of all kinds, and what the carrier provides. */
import type { Logger, Method, PluginGateway, Principal } from "@svc/sdk";
import type { Recorder } from "./declared.ts";
import { noteMembers } from "./deprecations.ts";
import type { AnyKind, PluginConfig, SetupContext } from "./kind.ts";

/** Parts of `gateway` in addition to the members of kinds. */
export interface PluginGatewayParts {
  readonly context: SetupContext;
  readonly kinds: readonly AnyKind[];
  readonly recorder: Recorder;
  readonly config: PluginConfig;
  /** By the plugin's names in `requires`. */
  readonly services: Readonly<Record<string, unknown>>;
  readonly log: Logger;
  /** Creates the plugin's private directory. @returns its path */
  stateDir(): string;
  call(method: Method, params: unknown, principal: Principal | undefined): Promise<unknown>;
}

export function gatewayOf(parts: PluginGatewayParts): PluginGateway {
  const { context, kinds, recorder, config, services, log, stateDir } = parts;
  const { id } = context.plugin;
  const gateway = {
    id,
    config: config.value,
    sections: config.sections,
    services: Object.freeze({ ...services }),
    log,
    clock: context.clock,
    signal: context.signal,
    get stateDir() {
      return stateDir();
    },
    call(method: Method, params: unknown, options: { principal?: Principal } = {}) {
      if (recorder.isOpen) throw new Error(`plugin ${id}: call() is only allowed from start() on`);
      return parts.call(method, params, options.principal);
    },
    restart(reason: string) {
      if (recorder.isOpen) throw new Error(`plugin ${id}: restart() is only allowed from start() on`);
      context.restart(reason);
    },
  };
  for (const kind of kinds)
    Object.assign(
      gateway,
      kind.members?.((entry) => recorder.record(kind, entry), context),
    );
  return noteMembers(gateway, recorder.deprecated) as unknown as PluginGateway; // one implementation for every plugin's types
}
