/** Busy checks: tell a planned restart or stop whether a plugin still has work in progress. */
import { Type } from "@svc/sdk";
import { defineKind } from "../kind.ts";

export interface BusyCheck {
  readonly check: () => boolean;
}

export const busy = defineKind<BusyCheck>({
  name: "busy",
  noun: "check of",
  shape: Type.Object({ name: Type.String() }),
  describe: () => ({ name: "busy" }),

  members: (record) => ({ busy: (check: () => boolean) => record({ check }) }),
  adopt: (_, remote) => ({ check: () => remote.isBusy() }),
  asleep: () => undefined,
});
