/** Requests in chats: which ones are shown where, and who may decide there. Spec: protocol/methods-exec-approvals.md `approvals.exec`. */
import { type ExtensionView, GatewayError, invalidRequest, type Logger, messageOf, notFound } from "@svc/sdk";
import type { ApprovalDecisions, ApprovalForwarder, ApprovalTarget, ChatDecision } from "@svc/sdk/approvals";
import type { ApprovalRecord } from "./approval-rows.ts";
import type { ApprovalQueue } from "./approval-queue.ts";
import type { ApprovalStore } from "./approval-store.ts";
import type { ApprovalsConfig, Forwarding } from "./config.ts";

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
  /** By id: whether a chat got the request. The outcome waits for it, so that it never comes first. */
  const shown = new Map<string, Promise<boolean>>();
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
      const asking = forwarders.map((one) =>
        view
          .call(one, (forwarder) => forwarder.ask(approval))
          .catch((error: unknown) => {
            failed(error);
            return false;
          }),
      );
      const asked = Promise.all(asking).then((answers) => answers.includes(true));
      shown.set(id, asked);
      return asked;
    },

    /** Shows the outcome of a request that this process showed in a chat, or that a restart has ended. Never rejects. */
    async settled({ id, view: request, decision, resolvedBy, reason }: ApprovalRecord): Promise<void> {
      const asked = shown.get(id);
      if (!asked && reason !== "restart") return;
      shown.delete(id);
      await asked;
      const by = resolvedBy === null ? {} : { by: resolvedBy };
      const outcome = { id, request, decision, ...by, ...(reason !== null && { reason }) };
      for (const one of view.list()) view.call(one, (forwarder) => forwarder.settled(outcome)).catch(failed);
    },
  };
}

interface DecisionSources {
  readonly queue: Pick<ApprovalQueue, "decide">;
  readonly store: Pick<ApprovalStore, "get" | "list">;
  readonly config: () => ForwardingConfig;
}

export function createChatDecisions({ queue, store, config }: DecisionSources): ApprovalDecisions {
  return {
    async decide(asked) {
      const record = await find(asked.id, store);
      if (!isApprover(asked, record, config()))
        throw new GatewayError(
          "FORBIDDEN",
          `only approvers decide; the owner lists them in approvals.${sectionOf(record)}.approvers`,
        );
      const { by, decision, principal } = asked;
      const outcome = await queue.decide(record, { decision, by, principalId: principal.id });
      if (outcome.won) return;
      const { status, decision: other, resolvedBy } = outcome.record ?? {};
      invalidRequest(
        status === "decided"
          ? `${resolvedBy ?? "a grant"} has already decided: ${other ?? "deny"}`
          : "this request has expired, which counts as a no",
      );
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

/**
 * Only people who are listed by their id on the network; names and roles never count. Choice: `<channel>:<sender id>` counts on the
 * default account only, since another account may belong to a server whose administrator chooses ids. `<channel>/<account
 * id>:<sender id>` counts on that account. Ids of channels and accounts have no `:` or `/`, so no entry is both.
 */
function isApprover(
  { channel, accountId, isDefaultAccount, senderId }: ChatDecision,
  record: ApprovalRecord,
  config: ForwardingConfig,
): boolean {
  const rules = config[sectionOf(record)];
  const names = [`${channel}/${accountId}:${senderId}`, ...(isDefaultAccount ? [`${channel}:${senderId}`] : [])];
  return rules?.enabled === true && (rules.approvers ?? []).some((one) => names.includes(one.trim()));
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

/** Kinds of commands: of clients and nodes, and of the tool `exec`. */
const COMMANDS: readonly string[] = ["exec", "question:tool:exec"];

/** Commands have the section `exec`, requests of plugins and gates the section `plugin`. */
function sectionOf({ kind }: Pick<ApprovalRecord, "kind">): "exec" | "plugin" {
  return COMMANDS.includes(kind) ? "exec" : "plugin";
}

function targetOf({ channel, to, accountId, threadId }: NonNullable<Forwarding["targets"]>[number]): ApprovalTarget {
  return {
    channel,
    to,
    ...(accountId === undefined ? {} : { accountId }),
    ...(threadId === undefined ? {} : { threadId: String(threadId) }),
  };
}
