/** A plugin's identity in tests of the hooks: remembers what it was charged with. */
import type { Owner } from "../../../host/hooks/owner.ts";
import { PluginTally } from "../../../host/kernel/stats.ts";

export interface FakeOwner extends Owner {
  readonly tally: PluginTally;
  readonly charges: { readonly error: unknown; readonly where: string }[];
  stop(): void;
}

export function fakeOwner(id: string, order: number): FakeOwner {
  const controller = new AbortController();
  const charges: { error: unknown; where: string }[] = [];
  return {
    id,
    order,
    signal: controller.signal,
    ready: true,
    hold: undefined,
    away: undefined,
    tally: new PluginTally(),
    enter: () => undefined,
    leave: () => undefined,
    run: (work) => work(),
    charge: (error, where) => void charges.push({ error, where }),
    charges,
    stop: () => controller.abort(),
  };
}
