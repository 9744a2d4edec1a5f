/** Approval requests in chats: shown with buttons, decided by a button or `/approve`, and the outcome in the same message. */
import { questionFacts } from "@svc/kit/exec";
import { isGatewayError, type Live, type Logger, messageOf } from "@svc/sdk";
import type {
  ApprovalDecision,
  ApprovalDecisions,
  ApprovalForwarder,
  ApprovalRequestView,
  ApprovalTarget,
  ChatDecision,
  ForwardedApproval,
} from "@svc/sdk/approvals";
import type { MessageButton } from "@svc/sdk/channels";
import { cut } from "@svc/sdk/cli";
import type { ChatCommand } from "@svc/sdk/commands";
import type { SessionEntry, Sessions } from "@svc/sdk/sessions";
import { createHash, randomUUID } from "node:crypto";
import { type ChannelAccounts, defaultAccountOf } from "./accounts/channel-accounts.ts";
import { type Inbound, messageKey, type Source } from "./inbound/inbound-message.ts";
import { nameOf } from "./inbound/prompt.ts";
import { principalOf } from "./access/sender.ts";
import { type Destination, destinationOf, lastRouteOf } from "./outbox/addressing.ts";
import type { Outbox } from "./outbox/outbox.ts";
import type { NewText, OutboxStore } from "./outbox/outbox-store.ts";

const DECISIONS: readonly ApprovalDecision[] = ["allow-once", "allow-always", "deny"];
const LABELS: Readonly<Record<ApprovalDecision, string>> = {
  "allow-once": "Allow once",
  "allow-always": "Always allow",
  deny: "Deny",
};
/** By the reason of an expiry; any other one is the time. */
const ENDS: Readonly<Record<string, string>> = {
  "nobody to ask": "Expired: it could not be shown in every chat.",
  cancelled: "Withdrawn: a decision is no longer needed.",
  restart: "Expired: the gateway was restarted before a decision.",
};
/** Longest id that fits the value of a button. */
const MAX_ID_CHARS = 38;
/** Choice: characters of the command in the message with the outcome. */
const MAX_SHOWN_CHARS = 500;

interface ApprovalChatSources {
  readonly accounts: ChannelAccounts;
  readonly outbox: Pick<Outbox, "add">;
  readonly texts: Pick<OutboxStore, "below">;
  readonly sessions: Live<Sessions>;
  readonly decisions: Live<ApprovalDecisions>;
  readonly log: Pick<Logger, "warn">;
}

export function createApprovalChats({ accounts, outbox, texts, sessions, decisions, log }: ApprovalChatSources) {
  const forwarder: ApprovalForwarder = {
    async ask(approval) {
      const places = await placesOf(approval);
      for (const place of places) await outbox.add(letter(approval, place));
      return places.length > 0;
    },

    async settled({ id, request, decision, by, reason = "" }) {
      const outcome =
        decision === null
          ? (ENDS[reason] ?? "Expired: nobody decided in time.")
          : `${pastOf(decision)}${by === undefined ? "" : ` by ${by}`}.`;
      const text = `${outcome}\n${fenced(cut(request.command, MAX_SHOWN_CHARS))}`;
      const prefix = textId(id);
      for (const question of await texts.below(prefix)) {
        // Others belong to a request whose id begins with this one, or are outcomes.
        if (!PLACE.test(question.id.slice(prefix.length))) continue;
        const { channel, accountId, to, threadId, maxChars } = question;
        const place = { channel, accountId, to, maxChars, ...(threadId !== undefined && { threadId }) };
        await outbox.add({ ...place, id: `${question.id}:outcome`, text, extras: { draft: question.id } });
      }
    },
  };

  async function placesOf({ request, inSession, targets }: ForwardedApproval): Promise<readonly Destination[]> {
    const entry = request.sessionKey === null ? undefined : await sessions.get()?.get(request.sessionKey);
    const wanted = inSession ? [...targets, ...askersChat(request, entry)] : targets;
    const found = await Promise.all(
      wanted.map(async (target) => {
        const place = await destinationOf(target, entry, accounts).catch(messageOf);
        if (typeof place !== "string") return [place];
        log.warn({ ...target, reason: place }, "an approval request cannot be shown in a chat");
        return [];
      }),
    );
    return [...new Map(found.flat().map((place) => [keyOf(place), place])).values()];
  }

  /** The chat that the request names, else the one where its session was last active. */
  function askersChat(request: ApprovalRequestView, entry: SessionEntry | undefined): readonly ApprovalTarget[] {
    const { turnSourceChannel: channel, turnSourceTo: to, turnSourceAccountId, turnSourceThreadId } = request;
    if (channel === null || to === null || accounts.channelId(channel) === undefined)
      return lastRouteOf(entry) ? [{ channel: "last", to: "" }] : [];
    const account = turnSourceAccountId === null ? {} : { accountId: turnSourceAccountId };
    const thread = turnSourceThreadId === null ? {} : { threadId: String(turnSourceThreadId) };
    return [{ channel, to, ...account, ...thread }];
  }

  return {
    forwarder,

    /** Handles a pressed button. @returns false: the button is not one of an approval request */
    async pressed({ channel, account, capabilities }: Source, message: Inbound, user: boolean): Promise<boolean> {
      const { event, sender, chat } = message;
      const asked = event?.kind === "button" ? readValue(event.value) : undefined;
      if (!asked) return false;
      const principal = principalOf(channel, account.id, sender.id, user);
      const answer = await decide(asked, { channel, accountId: account.id, sender, principal });
      if (answer === undefined) return true;
      const thread = chat.threadId === undefined ? {} : { threadId: chat.threadId };
      const place = { channel, accountId: account.id, to: chat.id, maxChars: capabilities.maxTextChars, ...thread };
      const key = message.id === undefined ? randomUUID() : messageKey(channel, account.id, message.id);
      await outbox.add({ ...place, id: `approval-answer:${key}`, text: answer });
      return true;
    },

    command: {
      summary: "decide an approval request",
      usage: `<id> ${DECISIONS.join("|")}`,
      scope: "operator.read", // the list of approvers decides, whether or not the person may talk to the agent
      urgent: true, // a request expires within minutes
      async run({ text, surface, principal, sender, address: { channel, accountId } = {} }) {
        if (surface !== "channel" || !sender || channel === undefined || accountId === undefined)
          return { reply: "Decide here with: svc approvals allow <id>, or deny." };
        const [id = "", word = ""] = text.trim().split(/\s+/);
        const decision = DECISIONS.find((one) => one === word.toLowerCase());
        if (id === "" || !decision) return { reply: `Write: /approve <id> ${DECISIONS.join("|")}` };
        const refusal = await decide({ id, decision }, { channel, accountId, sender, principal });
        return { reply: refusal ?? `${pastOf(decision)}.` };
      },
    } satisfies ChatCommand,
  };

  /** @returns a sentence if the decision does not count; its success is shown in the message of the request */
  async function decide(
    asked: Pick<ChatDecision, "id" | "decision">,
    { sender, ...from }: Pick<ChatDecision, "channel" | "accountId" | "principal"> & Pick<Inbound, "sender">,
  ): Promise<string | undefined> {
    const service = decisions.get();
    if (!service) return "No decision can be taken now: the plugin approvals does not run.";
    const channel = accounts.channel(from.channel);
    const isDefaultAccount = channel !== undefined && defaultAccountOf(channel.value) === from.accountId;
    try {
      await service.decide({ ...asked, ...from, isDefaultAccount, senderId: sender.id, by: nameOf(sender) });
      return undefined;
    } catch (error) {
      if (isGatewayError(error) && error.code !== "INTERNAL") return `Not decided: ${error.message}.`;
      throw error;
    }
  }
}

/** Id in the outbox of what belongs to a request; a colon and the digest of a place follow. */
function textId(id: string): string {
  return `approval:${id}`;
}

/** What follows `textId` in the id of a question. */
const PLACE = /^:[0-9a-f]{16}$/;

function letter(approval: ForwardedApproval, place: Destination): NewText {
  const { contribution, accountId, to, threadId } = place;
  const { capabilities } = contribution.value;
  const digest = createHash("sha256").update(keyOf(place)).digest("hex").slice(0, 16);
  const hasButtons = capabilities.buttons === true && approval.id.length <= MAX_ID_CHARS;
  return {
    id: `${textId(approval.id)}:${digest}`,
    channel: contribution.id,
    accountId,
    to,
    ...(threadId === undefined ? {} : { threadId }),
    maxChars: capabilities.maxTextChars,
    text: questionText(approval, hasButtons),
    ...(hasButtons ? { extras: { buttons: [buttonsOf(approval.id)] } } : {}),
  };
}

/** Texts of others are in code blocks, so that they are no markup. The command has its own block, so that it imitates no fact. */
function questionText({ id, request, expiresAtMs, createdAtMs }: ForwardedApproval, hasButtons: boolean): string {
  const facts = questionFacts(request).map(([name, value]) => `${name}: ${value}`);
  const minutes = Math.max(1, Math.round((expiresAtMs - createdAtMs) / 60_000));
  const shownId = id.length > MAX_ID_CHARS ? id : id.slice(0, 8);
  return [
    "Approval needed:",
    fenced(request.command),
    ...(facts.length === 0 ? [] : [fenced(facts.join("\n"))]),
    `Valid for ${minutes} min. "Always" allows exactly this for 90 days.`,
    `Decide with ${hasButtons ? "the buttons, or: " : ""}/approve ${shownId} ${DECISIONS.join("|")}`,
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

function keyOf({ contribution, accountId, to, threadId }: Destination): string {
  return JSON.stringify([contribution.id, accountId, to, threadId ?? null]);
}
