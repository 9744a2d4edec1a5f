/** Approval requests in chats: shown with buttons, decided by a button or `/approve`, and the outcome in the same message. */
import { isGatewayError, type Live } from "@svc/sdk";
import type {
  ApprovalDecision,
  ApprovalDecisions,
  ApprovalForwarder,
  ApprovalRequestView,
  ApprovalTarget,
  ForwardedApproval,
} from "@svc/sdk/approvals";
import type { MessageButton } from "@svc/sdk/channels";
import type { ChatCommand } from "@svc/sdk/commands";
import type { Sessions } from "@svc/sdk/sessions";
import { createHash } from "node:crypto";
import type { ChannelAccounts } from "./accounts/channel-accounts.ts";
import type { Inbound, Source } from "./inbound/inbound-message.ts";
import { nameOf } from "./inbound/prompt.ts";
import { principalOf } from "./access/sender.ts";
import { type Destination, destinationOf } from "./outbox/addressing.ts";
import type { Outbox } from "./outbox/outbox.ts";
import type { NewText } from "./outbox/outbox-store.ts";

const DECISIONS: readonly ApprovalDecision[] = ["allow-once", "allow-always", "deny"];
const LABELS: Readonly<Record<ApprovalDecision, string>> = {
  "allow-once": "Allow once",
  "allow-always": "Always allow",
  deny: "Deny",
};
/** Longest id that fits the value of a button. */
const MAX_ID_CHARS = 38;
/** Choice: characters of the command in the message with the outcome. */
const MAX_SHOWN_CHARS = 500;

interface ApprovalChatSources {
  readonly accounts: ChannelAccounts;
  readonly outbox: Pick<Outbox, "add">;
  readonly sessions: Live<Sessions>;
  readonly decisions: Live<ApprovalDecisions>;
}

export function createApprovalChats({ accounts, outbox, sessions, decisions }: ApprovalChatSources) {
  /** Where each request is shown, until it is settled. */
  const shown = new Map<string, readonly NewText[]>();

  const forwarder: ApprovalForwarder = {
    async ask(approval) {
      const places = await placesOf(approval);
      const texts = places.map((place) => letter(approval, place));
      for (const text of texts) await outbox.add(text);
      if (texts.length > 0) shown.set(approval.id, texts);
      return texts.length > 0;
    },

    async settled({ id, request, decision, by }) {
      const texts = shown.get(id) ?? [];
      shown.delete(id);
      const outcome =
        decision === null
          ? "Expired: nobody decided in time."
          : `${pastOf(decision)}${by === undefined ? "" : ` by ${by}`}.`;
      const text = `${outcome}\n${fenced(cut(request.command))}`;
      for (const question of texts)
        await outbox.add({ ...question, id: `${question.id}:outcome`, text, extras: { draft: question.id } });
    },
  };

  async function placesOf({ request, inSession, targets }: ForwardedApproval): Promise<readonly Destination[]> {
    const wanted: ApprovalTarget[] = [...targets];
    const entry = request.sessionKey === null ? undefined : await sessions.get()?.get(request.sessionKey);
    if (inSession && entry) wanted.push({ channel: "last", to: "" });
    const found = await Promise.all(
      wanted.map(async ({ threadId, ...target }) => {
        const place = await destinationOf(target, entry, accounts).catch(() => "the channel is not available");
        return typeof place === "string" ? [] : [threadId === undefined ? place : { ...place, threadId }];
      }),
    );
    const byKey = new Map(found.flat().map((place) => [keyOf(place), place]));
    return [...byKey.values()];
  }

  return {
    forwarder,

    /** Handles a pressed button. @returns false: the button is not one of an approval request */
    async pressed({ channel, account, capabilities }: Source, message: Inbound, user: boolean): Promise<boolean> {
      const { event, sender, chat } = message;
      const asked = event?.kind === "button" ? readValue(event.value) : undefined;
      if (!asked) return false;
      const principal = principalOf(channel, account.id, sender.id, user);
      const answer = await decide({ ...asked, channel, senderId: sender.id, principal, by: nameOf(sender) });
      if (answer === undefined) return true;
      const thread = chat.threadId === undefined ? {} : { threadId: chat.threadId };
      const place = { channel, accountId: account.id, to: chat.id, maxChars: capabilities.maxTextChars, ...thread };
      const id = `approval-answer:${
        message.id ??
        createHash("sha256")
          .update(JSON.stringify([asked, sender.id]))
          .digest("hex")
      }`;
      await outbox.add({ ...place, id, text: answer });
      return true;
    },

    command: {
      summary: "decide an approval request",
      usage: `<id> ${DECISIONS.join("|")}`,
      async run({ text, surface, principal, sender, address }) {
        const channel = address?.channel;
        if (surface !== "channel" || !sender || channel === undefined)
          return { reply: "Decide here with: svc approvals allow <id>, or deny." };
        const [id = "", word = ""] = text.trim().split(/\s+/);
        const decision = DECISIONS.find((one) => one === word.toLowerCase());
        if (id === "" || !decision) return { reply: `Write: /approve <id> ${DECISIONS.join("|")}` };
        return {
          reply:
            (await decide({ id, decision, channel, senderId: sender.id, principal, by: nameOf(sender) })) ??
            `${pastOf(decision)}.`,
        };
      },
    } satisfies ChatCommand,
  };

  /** @returns a sentence if the decision does not count; its success is shown in the message of the request */
  async function decide(decision: Parameters<ApprovalDecisions["decide"]>[0]): Promise<string | undefined> {
    const service = decisions.get();
    if (!service) return "No decision can be taken now: the plugin approvals does not run.";
    try {
      await service.decide(decision);
      return undefined;
    } catch (error) {
      if (isGatewayError(error) && error.code !== "INTERNAL") return `Not decided: ${error.message}.`;
      throw error;
    }
  }
}

function letter(approval: ForwardedApproval, { contribution, accountId, to, threadId }: Destination): NewText {
  const { capabilities } = contribution.value;
  const place = { channel: contribution.id, accountId, to, maxChars: capabilities.maxTextChars };
  const digest = createHash("sha256").update(JSON.stringify([contribution.id, accountId, to, threadId ?? null]));
  const hasButtons = capabilities.buttons === true && approval.id.length <= MAX_ID_CHARS;
  return {
    ...place,
    ...(threadId === undefined ? {} : { threadId }),
    id: `approval:${approval.id}:${digest.digest("hex").slice(0, 16)}`,
    text: questionText(approval),
    ...(hasButtons ? { extras: { buttons: [buttonsOf(approval.id)] } } : {}),
  };
}

function questionText({ id, request, expiresAtMs, createdAtMs }: ForwardedApproval): string {
  const { command, because, cwd, nodeId, agentId, envKeys = [] } = request;
  const facts = [
    ...(agentId === null ? [] : [`Agent: ${agentId}`]),
    ...(nodeId === null ? [] : [`Node: ${nodeId}`]),
    ...(cwd === null ? [] : [`Directory: ${cwd}`]),
    ...(envKeys.length === 0 ? [] : [`Variables: ${envKeys.join(", ")}`]),
    ...(because === undefined ? [] : [`Why: ${because}`]),
  ];
  const minutes = Math.max(1, Math.round((expiresAtMs - createdAtMs) / 60_000));
  const shownId = id.length > MAX_ID_CHARS ? id : id.slice(0, 8);
  return [
    "Approval needed:",
    fenced(command),
    ...facts,
    `Valid for ${minutes} min. Decide with the buttons, or: /approve ${shownId} ${DECISIONS.join("|")}`,
  ].join("\n");
}

function buttonsOf(id: string): readonly MessageButton[] {
  return DECISIONS.map((decision) => ({
    label: LABELS[decision],
    value: `approve:${id}:${decision}`,
    ...(decision === "deny"
      ? { style: "danger" as const }
      : decision === "allow-once"
        ? { style: "primary" as const }
        : {}),
  }));
}

function readValue(value: string): { readonly id: string; readonly decision: ApprovalDecision } | undefined {
  const [, id, decision] = /^approve:(.+):([a-z-]+)$/.exec(value) ?? [];
  const known = DECISIONS.find((one) => one === decision);
  return id === undefined || !known ? undefined : { id, decision: known };
}

function pastOf(decision: ApprovalDecision): string {
  return decision === "deny" ? "Denied" : decision === "allow-once" ? "Allowed once" : "Always allowed";
}

/** A code block whose fence is longer than any run of backticks in the text. */
function fenced(text: string): string {
  const longest = Math.max(2, ...(text.match(/`+/g) ?? []).map((run) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}\n${text}\n${fence}`;
}

function cut(text: ApprovalRequestView["command"]): string {
  return text.length <= MAX_SHOWN_CHARS ? text : `${text.slice(0, MAX_SHOWN_CHARS)}…`;
}

function keyOf({ contribution, accountId, to, threadId }: Destination): string {
  return JSON.stringify([contribution.id, accountId, to, threadId ?? null]);
}
