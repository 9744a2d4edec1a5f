/** `exec.approval.*`: requests, waits for, decides and lists approvals. Spec: protocol/methods-exec-approvals.md §2-4. */
import {
  type Call,
  type Clock,
  type ConnectionInfo,
  coversScope,
  type Handlers,
  invalidRequest,
  matches,
  notFound,
  pause,
  type ResultOf,
  untilAborted,
} from "@svc/sdk";
import { ApprovalDecision, type execApproval } from "@svc/sdk/approvals";
import { refusal } from "@svc/sdk/errors";
import { type ApprovalRecord, type Requester, toListed } from "./approval-rows.ts";
import type { ApprovalStore } from "./approval-store.ts";
import { type ApproverList, approversAmong, mayDecide } from "./approvers.ts";
import { askedCommand } from "./asking.ts";
import type { ApprovalQueue } from "./approval-queue.ts";
import { toldDecision, wantedGrant } from "./grants.ts";

type Decided = ResultOf<typeof execApproval.waitDecision>;

/** Choice: maximum characters of an id chosen by a caller, and default rows of `list`. */
const MAX_ID = 200;
const LISTED = 50;
/** Choice: milliseconds between two reads of a question of another gateway. */
const FOLLOW_MS = 500;
/** Clients match this text. Spec: §3. */
const UNKNOWN = "approval expired or not found";

export interface MethodParts {
  readonly queue: ApprovalQueue;
  readonly store: ApprovalStore;
  readonly clock: Pick<Clock, "now" | "setTimeout">;
  approvers(): ApproverList;
  /** The current connections. */
  connections(): readonly ConnectionInfo[];
}

/** Handlers of the contract. */
export function approvalMethods({
  queue,
  store,
  clock,
  approvers,
  connections,
}: MethodParts): Handlers<typeof execApproval> {
  /** A question that was added meanwhile, or whose requester waits at another gateway. */
  async function waitedFor(id: string, signal: AbortSignal): Promise<ApprovalRecord> {
    for (;;) {
      const record = (await store.get(id)) ?? notFound(UNKNOWN);
      if (record.status !== "pending") return record;
      const waiting = queue.waiting(id);
      if (waiting) return waiting;
      await pause(FOLLOW_MS, clock, signal);
    }
  }

  return {
    async request(call) {
      const { params, signal } = call;
      const taken = await queue.take({
        id: params.id === undefined ? undefined : chosenId(params.id),
        asked: askedCommand(params),
        requester: requesterOf(call),
        timeoutMs: params.timeoutMs,
        always: params.ask === "always",
      });
      if (!taken) return invalidRequest("an approval with this id already exists; use another id, or none");
      const { id, createdAt, expiresAt } = taken.record;
      if (params.twoPhase === true) {
        call.accept({ status: "accepted", id, createdAtMs: createdAt, expiresAtMs: expiresAt });
      }
      return decided(await untilAborted(taken.settled, signal)); // the question stays pending when its requester disconnects
    },

    async waitDecision({ params, signal }) {
      const id = typeof params.id === "string" ? params.id.trim() : "";
      if (id === "") return invalidRequest("id is missing: the id of the approval to wait for");
      const waiting = queue.waiting(id);
      if (waiting) return decided(await untilAborted(waiting, signal));
      return decided(await untilAborted(waitedFor(id, signal), signal));
    },

    async resolve(call) {
      const { id, decision, grant: wish } = call.params;
      if (!matches(ApprovalDecision, decision)) {
        return invalidRequest("decision must be allow-once, allow-always or deny");
      }
      // Choice: only over a connection. Code inside the gateway, e.g. a tool of an agent, may act for a person but is not one.
      if (!call.connection || !mayDecide(approvers(), call.principal, call.connection.device)) refuseDecision();
      const record = (await store.get(id)) ?? notFound("no approval has this id. Next: svc approvals list");
      const grant = wantedGrant(wish, decision, record.view, clock.now());
      const by = { by: shownName(call), principalId: call.principal.id };
      const outcome = await queue.decide(record, { decision: toldDecision(decision, grant), grant, ...by });
      return outcome.won ? { ok: true } : tooLate(outcome.record);
    },

    async list(call) {
      const listed = approvers();
      const mayReadAll = mayDecide(listed, call.principal, call.connection?.device);
      const rows = await store.list(call.params.limit ?? LISTED, mayReadAll ? undefined : requesterOf(call));
      const approvals = rows.map(toListed);
      if (!coversScope(call.principal.scopes, "operator.admin")) return { approvals };
      const connected = approversAmong(listed, connections()).filter((id) => id !== call.connection?.id).length;
      return { approvals, approvers: { connected, ...(listed === undefined ? {} : { listed: [...listed] }) } };
    },
  };
}

function chosenId(text: string): string {
  const id = text.trim();
  if (id !== "" && id.length <= MAX_ID && !/\p{Cc}/u.test(id)) return id;
  return invalidRequest(`id must have 1 to ${MAX_ID} visible characters; or omit it`);
}

/** Calls inside the gateway have no connection; their requester is the principal. */
function requesterOf({ principal, connection }: Call<unknown>): Requester {
  return {
    principalId: principal.id,
    deviceId: connection?.device ?? null,
    connectionId: connection?.id ?? null,
  };
}

function decided({ id, decision, createdAt, expiresAt }: ApprovalRecord): Decided {
  return { id, decision, createdAtMs: createdAt, expiresAtMs: expiresAt };
}

/** Spec: §4: the client's display name, else its id. */
function shownName({ connection, principal }: Call<unknown>): string {
  const name = connection?.client?.displayName ?? connection?.client?.id ?? principal.id;
  return name.slice(0, 200);
}

function refuseDecision(): never {
  throw refusal(
    "NOT_AN_APPROVER",
    "you are not an approver. Next: ask one of the approvers in approvals.approvers, or let an admin add your device id",
  );
}

function tooLate(record: ApprovalRecord | undefined): never {
  if (record?.status === "decided") {
    const by = record.resolvedBy === null ? "" : ` by ${record.resolvedBy}`;
    invalidRequest(`this was already decided: ${record.decision}${by}; the first decision counts`);
  }
  invalidRequest("this approval expired, which counts as a no; the requester must ask again");
}
