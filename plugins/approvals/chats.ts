/** Requests in chats: which ones are shown where, and who may decide there. Spec: protocol/methods-exec-approvals.md `approvals.exec`. */
import {
  type Clock,
  type ExtensionView,
  GatewayError,
  invalidRequest,
  type Logger,
  messageOf,
  notFound,
} from "@svc/sdk";
import type {
  ApprovalDecisions,
  ApprovalForwarder,
  ApprovalTarget,
  ChatDecision,
  ForwardedOutcome,
} from "@svc/sdk/approvals";
import type { ApprovalRecord } from "./approval-rows.ts";
import type { ApprovalQueue } from "./approval-queue.ts";
import type { ApprovalStore } from "./approval-store.ts";
import type { ApprovalsConfig, Forwarding } from "./config.ts";
import { wantedGrant } from "./grants.ts";

type ForwardingConfig = Pick<ApprovalsConfig, "exec" | "plugin">;

/** Choice: pending requests among which an abbreviated id is searched. */
const SEARCHED = 200;

interface ForwardingSources {
  readonly view: ExtensionView<ApprovalForwarder>;
  readonly config: () => ForwardingConfig;
  readonly log: Pick<Logger, "info" | "warn">;
}

/** Shows requests and outcomes through the contributed forwarders. */
export function createChatForwarding({ view, config, log }: ForwardingSources) {
  /** Ids of requests that are shown in a chat. */
  const shown = new Set<string>();
  const failed = (error: unknown) =>
    log.warn({ reason: messageOf(error) }, "an approval request could not be shown in a chat");
  return {
    /** @returns `undefined` if the request is not for chats; else whether a chat got it. Never rejects */
    ask(record: ApprovalRecord): Promise<boolean> | undefined {
      const rules = rulesOf(record, config());
      const forwarders = view.list();
      if (rules === undefined || forwarders.length === 0) return undefined;
      const { id, view: request, createdAt, expiresAt } = record;
      const { mode = "session", targets = [] } = rules;
      const approval = {
        id,
        request,
        createdAtMs: createdAt,
        expiresAtMs: expiresAt,
        inSession: mode !== "targets",
        targets: mode === "session" ? [] : targets.map(targetOf),
      };
      shown.add(id);
      const asked = forwarders.map((one) =>
        view
          .call(one, (forwarder) => forwarder.ask(approval))
          .catch((error: unknown) => {
            failed(error);
            return false;
          }),
      );
      return Promise.all(asked).then((answers) => answers.includes(true));
    },

    /** Never rejects. */
    settled(outcome: ForwardedOutcome): void {
      if (!shown.delete(outcome.id)) return;
      for (const one of view.list()) view.call(one, (forwarder) => forwarder.settled(outcome)).catch(failed);
    },
  };
}

interface DecisionSources {
  readonly queue: Pick<ApprovalQueue, "decide">;
  readonly store: Pick<ApprovalStore, "get" | "list">;
  readonly clock: Pick<Clock, "now">;
  readonly config: () => ForwardingConfig;
}

export function createChatDecisions({ queue, store, clock, config }: DecisionSources): ApprovalDecisions {
  return {
    async decide(asked) {
      const record = await find(asked.id, store);
      if (!isApprover(asked, record, config()))
        throw new GatewayError(
          "FORBIDDEN",
          `only approvers decide; the owner lists them in approvals.${sectionOf(record)}.approvers`,
        );
      const grant = wantedGrant(undefined, asked.decision, record.view, clock.now());
      const { by, decision, principal } = asked;
      const outcome = await queue.decide(record, { decision, grant, by, principalId: principal.id });
      const { id } = record;
      if (outcome.won) return `${id.slice(0, 8)}: ${decision}.`;
      const { status, decision: other, resolvedBy } = outcome.record ?? {};
      return status === "decided"
        ? invalidRequest(`${resolvedBy ?? "a grant"} has already decided: ${other ?? "deny"}`)
        : invalidRequest("this request has expired, which counts as a no");
    },
  };
}

async function find(id: string, store: DecisionSources["store"]): Promise<ApprovalRecord> {
  const exact = await store.get(id);
  if (exact) return exact;
  const pending = (await store.list(SEARCHED, undefined)).filter(({ status }) => status === "pending");
  const [found, another] = id.length < 4 ? [] : pending.filter((record) => record.id.startsWith(id));
  if (another) invalidRequest(`several requests begin with ${id}; write more of the id`);
  return found ?? notFound(`no pending request has the id ${id}`);
}

/** Only people who are listed by their id on the network; names and roles never count. */
function isApprover({ channel, senderId }: ChatDecision, record: ApprovalRecord, config: ForwardingConfig): boolean {
  const rules = config[sectionOf(record)];
  const name = `${channel}:${senderId}`;
  return rules?.enabled === true && (rules.approvers ?? []).some((one) => one.trim() === name);
}

/** The rules for a request; `undefined`: it is not shown in chats. */
function rulesOf(record: ApprovalRecord, config: ForwardingConfig): Forwarding | undefined {
  const rules = config[sectionOf(record)];
  const { agentId, sessionKey } = record.view;
  if (rules?.enabled !== true) return undefined;
  if (rules.agentFilter && !rules.agentFilter.includes(agentId ?? "")) return undefined;
  if (rules.sessionFilter && !rules.sessionFilter.some((part) => (sessionKey ?? "").includes(part))) return undefined;
  return rules;
}

/** Commands have the section `exec`, requests of plugins and gates the section `plugin`. */
function sectionOf({ kind }: Pick<ApprovalRecord, "kind">): "exec" | "plugin" {
  return kind === "exec" || kind.endsWith(":exec") ? "exec" : "plugin";
}

function targetOf({ channel, to, accountId, threadId }: NonNullable<Forwarding["targets"]>[number]): ApprovalTarget {
  return {
    channel,
    to,
    ...(accountId === undefined ? {} : { accountId }),
    ...(threadId === undefined ? {} : { threadId: String(threadId) }),
  };
}
