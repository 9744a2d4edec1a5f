/** The part of the contract suite of channels about declared capabilities: each one reaches the network. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import type { Channel, ChannelAccount, ChannelCapabilities, OutboundMessage } from "../../channels/service.ts";
import type { ContractContext } from "./context.ts";

/** A capability that the suite can observe. */
export type ChannelAbility = "edits" | "reactions" | "typing" | "media" | "buttons" | "polls" | "replies" | "threads";

/**
 * What reached the network beside texts, oldest first: new texts of edited messages, one entry for each reaction and typing
 * signal, names of files, labels of buttons, questions of polls, ids of answered messages and of threads.
 */
export type ChannelEvidence = Partial<Record<ChannelAbility, () => readonly string[]>> & {
  /** A thread of the network, if the channel has threads. */
  readonly threadId?: string;
};

export interface AbilityScene {
  readonly channel: Channel;
  readonly account: ChannelAccount;
  readonly targets: readonly string[];
  readonly evidence: ChannelEvidence;
  /** Runs the account during `work`. */
  readonly running: (work: () => Promise<void>) => Promise<void>;
  /** Waits until the condition holds. */
  readonly until: (holds: () => boolean, otherwise: string) => Promise<void>;
}

const EDITED = "edited by the contract";
const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

/** The capabilities that a channel declares, of those the suite can observe. */
export function declaredAbilities(capabilities: ChannelCapabilities): readonly ChannelAbility[] {
  const { edits, reactions, typing, media = [], buttons, polls, replies, threads } = capabilities;
  const declared = {
    edits,
    reactions,
    typing,
    media: media.length > 0,
    buttons,
    polls: polls !== undefined,
    replies,
    threads,
  };
  const abilities = Object.keys(declared) as ChannelAbility[]; // the keys of the literal above
  return abilities.filter((ability) => declared[ability] === true);
}

/** Registers one subtest for each declared capability. */
export async function abilities(t: ContractContext, scene: AbilityScene): Promise<void> {
  const { channel, evidence, running, until } = scene;
  for (const ability of declaredAbilities(channel.capabilities)) {
    await t.test(`${ability} reach the network`, async () => {
      const seen = evidence[ability];
      if (!seen) return assert.fail(`the channel declares ${ability}; pass network.evidence.${ability}`);
      await running(async () => {
        const before = seen().length;
        const wanted = await ACT[ability](scene);
        const isNew = () =>
          seen()
            .slice(before)
            .some((entry) => wanted === undefined || entry.includes(wanted));
        await until(isNew, `nothing of ${ability} reached the network`);
      });
    });
  }
}

/** Uses a capability. @returns a text that the evidence contains afterwards; `undefined`: any new entry suffices */
const ACT: Readonly<Record<ChannelAbility, (scene: AbilityScene) => Promise<string | undefined>>> = {
  async edits(scene) {
    const { channel } = scene;
    const [call, messageId] = [await placeOf(scene), await sent(scene, { text: "to be edited" })];
    assert.ok(channel.edit, "a channel with the capability edits has edit");
    await channel.edit({ ...call, messageId, text: EDITED });
    return EDITED;
  },
  async reactions(scene) {
    const { channel } = scene;
    const [call, messageId] = [await placeOf(scene), await sent(scene, { text: "to be reacted to" })];
    assert.ok(channel.react, "a channel with the capability reactions has react");
    await channel.react({ ...call, messageId, emoji: "👍" });
    return undefined;
  },
  async typing(scene) {
    const { channel } = scene;
    assert.ok(channel.typing, "a channel with the capability typing has typing");
    await channel.typing(await placeOf(scene));
    return undefined;
  },
  async media(scene) {
    const [kind = "file"] = scene.channel.capabilities.media ?? [];
    await sent(scene, { media: { kind, bytes: PNG, name: "contract.png", mimeType: "image/png" } }, false);
    return "contract";
  },
  async buttons(scene) {
    await sent(scene, { text: "choose", buttons: [[{ label: "Contract", value: "contract-yes" }]] });
    return "Contract";
  },
  async polls(scene) {
    await sent(scene, { poll: { question: "Contract?", options: ["yes", "no"], maxSelections: 1 } });
    return "Contract?";
  },
  async replies(scene) {
    const replyTo = await sent(scene, { text: "to be answered" });
    await sent(scene, { text: "the answer", replyTo });
    return replyTo;
  },
  async threads(scene) {
    const { threadId } = scene.evidence;
    if (threadId === undefined) return assert.fail("pass network.evidence.threadId, a thread of the network");
    await sent(scene, { text: "in a thread", threadId });
    return threadId;
  },
};

async function placeOf({ channel, account, targets }: AbilityScene) {
  const to = (await channel.target(targets[0] ?? "")) ?? "";
  return { accountId: account.id, settings: account.settings, to, signal: new AbortController().signal };
}

/** @param hasId the network must name the message */
async function sent(scene: AbilityScene, message: Partial<OutboundMessage>, hasId = true): Promise<string> {
  const place = await placeOf(scene);
  const { messageId } = await scene.channel.send({
    ...place,
    id: randomBytes(16).toString("hex"),
    text: "",
    ...message,
  });
  assert.ok(!hasId || messageId !== undefined, "send must return the id of the message");
  return messageId ?? "";
}
