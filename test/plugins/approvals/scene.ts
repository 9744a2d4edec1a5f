/** Questions on a real storage, with a fake clock. */
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { ParamsOf } from "@svc/sdk";
import type { execApproval, ExecClaim, SystemRunPlan } from "@svc/sdk/approvals";
import type { Storage } from "@svc/sdk/storage";
import { createFakeClock } from "@svc/sdk/testing";
import type { ApprovalRecord, Decision, Requester } from "../../../plugins/approvals/approval-rows.ts";
import { ApprovalStore } from "../../../plugins/approvals/approval-store.ts";
import { askedCommand } from "../../../plugins/approvals/asking.ts";
import { createClaims } from "../../../plugins/approvals/claims.ts";
import { ApprovalQueue, type NewQuestion } from "../../../plugins/approvals/approval-queue.ts";
import { openStorage } from "../../../plugins/storage-sqlite/storage.ts";
import { directory } from "../../directory.ts";
import { onlyOwner } from "../only-owner.ts";

/** A canary that must never appear anywhere. */
export const SECRET = "canary-5f1e77-value";

export const plan: SystemRunPlan = {
  argv: ["/usr/bin/rm", "-r", "build dir"],
  cwd: "/srv",
  rawCommand: null,
  agentId: "main",
  sessionKey: "agent:main:main",
};

/** A valid request; each case changes one thing. */
export const nodeRequest: ParamsOf<typeof execApproval.request> = {
  command: "rm",
  host: "node",
  nodeId: "node-1",
  systemRunPlan: plan,
  env: { TOKEN: SECRET },
};

export const requester: Requester = { principalId: "token", deviceId: "device-1", connectionId: "connection-1" };

/** A claim that matches `nodeRequest` of `requester`. */
export const claim = (approvalId: string, changes: Partial<ExecClaim> = {}): ExecClaim => ({
  approvalId,
  nodeId: "node-1",
  plan,
  env: { TOKEN: SECRET },
  claimed: "allow-once",
  principal: { id: "token", role: "operator", scopes: ["operator.admin"], provenance: "token", epoch: 1 },
  deviceId: "device-1",
  connectionId: "connection-2",
  ...changes,
});

export const ada: Decision = { decision: "allow-once", by: "Ada", principalId: "token" };

/** @param options.before fills the storage. `nobody`: no approver is connected; `broken.transactions`: writes fail. */
export async function openDesk(
  t: TestContext,
  { before }: { readonly before?: (storage: Storage) => Promise<void> } = {},
) {
  const place = directory(t, "svc-approvals-");
  const { storage: real, close } = await openStorage({ file: join(place, "svc.db") });
  t.after(close);
  const broken: { transactions?: () => Promise<never> } = {};
  const storage: Storage = { ...real, transaction: (all) => broken.transactions?.() ?? real.transaction(all) };
  const clock = createFakeClock();
  const state = { nobody: false };
  const [announced, decisions, logged]: [ApprovalRecord[], [ApprovalRecord, Decision][], unknown[]] = [[], [], []];
  const [elsewhere, nudged]: [ApprovalRecord[], string[]] = [[], []];
  const write = (fields: object, message: string) => void logged.push([fields, message]);
  const store = new ApprovalStore(storage);
  await before?.(real);
  await store.open(onlyOwner());
  await store.closeLeft(clock.now());
  let ids = 0;
  const newDesk = (over: ApprovalStore = store) =>
    new ApprovalQueue({
      store: over,
      clock,
      log: { debug: write, info: write, warn: write, error: write },
      announceExpiry: () => undefined,
      decidedElsewhere: (record) => void elsewhere.push(record),
      nudge: (owner) => void nudged.push(owner),
      newId: () => `q${++ids}`,
      announce(record) {
        if (!state.nobody) announced.push(record);
        return !state.nobody;
      },
      announceDecision: (record, decision) => void decisions.push([record, decision]),
    });
  const queue = newDesk();
  const ask = async (changes: Partial<NewQuestion> = {}, on = queue) => {
    const taken = await on.take({ asked: askedCommand(nodeRequest), requester, always: false, ...changes });
    if (!taken) throw new Error("the id is known");
    return taken;
  };
  const claims = createClaims(store, clock);
  return {
    directory: place,
    storage,
    broken,
    clock,
    state,
    announced,
    decisions,
    elsewhere,
    nudged,
    logged,
    store,
    queue,
    newDesk,
    ask,
    claims,
  };
}
