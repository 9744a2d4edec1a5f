/** An owner for tests of hooks, which records the failures attributed to it. */
import type { Charge, Owner } from "../../../host/hooks/owner.ts";
import { PluginTally } from "../../../host/kernel/stats.ts";

export interface FakeOwner extends Owner {
  readonly tally: PluginTally;
  readonly charges: { readonly error: unknown; readonly where: string; readonly counts: Charge }[];
  stop(): void;
}

export function fakeOwner(id: string, order: number): FakeOwner {
  const controller = new AbortController();
  const charges: { error: unknown; where: string; counts: Charge }[] = [];
  return {
    id,
    order,
    signal: controller.signal,
    ready: true,
    hold: undefined,
    back: () => undefined,
    tally: new PluginTally(),
    enter: () => undefined,
    leave: () => undefined,
    run: (work) => work(),
    charge: (error, where, counts = "counts") => void charges.push({ error, where, counts }),
    charges,
    stop: () => controller.abort(),
  };
}
