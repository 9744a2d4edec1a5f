/** Requests of this conversation that wait for a person. */
import {
  type ApprovalRequestView,
  execApproval,
  execApprovalRequested,
  execApprovalResolved,
} from "@svc/sdk/approvals";
import type { ViewContext } from "../../core/app.ts";

export interface Approval {
  readonly id: string;
  readonly request: ApprovalRequestView;
  /** epoch ms */
  readonly expiresAtMs: number;
}

export interface Approvals {
  readonly list: readonly Approval[];
  /** Reads them again: another conversation is open. */
  reload(): void;
  decide(id: string, decision: "allow-once" | "deny"): Promise<void>;
}

/** @param changed called after each change */
export function watchApprovals(context: ViewContext, isHere: (key: string) => boolean, changed: () => void): Approvals {
  let list: readonly Approval[] = [];
  const isWatched = context.may("operator.approvals") && context.serves(execApproval.list);
  const set = (next: readonly Approval[]) => {
    if (next.length === 0 && list.length === 0) return;
    list = next;
    changed();
  };
  const without = (id: string) => list.filter((one) => one.id !== id);
  const read = async () => {
    const { approvals } = await context.call(execApproval.list, {});
    set(approvals.filter(({ status, request }) => status === "pending" && isHere(request.sessionKey ?? "")));
  };
  const load = () => {
    if (isWatched && context.connection.state.kind === "connected") read().catch(() => undefined); // the view Approvals shows why
  };
  if (isWatched) {
    context.on(execApprovalRequested, (approval) => {
      if (isHere(approval.request.sessionKey ?? "")) set([...without(approval.id), approval]);
    });
    context.on(execApprovalResolved, ({ id }) => set(without(id)));
    context.onFresh(load);
    context.every(5_000, () => {
      const open = list.filter(({ expiresAtMs }) => expiresAtMs > Date.now());
      if (open.length < list.length) set(open);
    });
  }
  return {
    get list() {
      return list;
    },
    reload() {
      set([]);
      load();
    },
    async decide(id, decision) {
      await context.call(execApproval.resolve, { id, decision });
      set(without(id));
    },
  };
}
