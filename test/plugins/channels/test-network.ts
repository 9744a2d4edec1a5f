/** A network against a local server that speaks its API: how a test writes to a bot and reads its answers. */
import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { channelLogin } from "@svc/sdk/channels";
import type { GatewayClient } from "@svc/sdk/client";

/** One network with its server. */
export interface TestNetwork {
  /** Id of the channel. */
  readonly id: string;
  /** Plugins of the channel. Default: the one that the directory of the network names. */
  readonly plugins?: readonly string[];
  /** Settings that point the plugin at the server, without a login. */
  readonly settings: Readonly<Record<string, unknown>>;
  /** Values that people enter at the login, of all its forms. */
  readonly login: Readonly<Record<string, string>>;
  /** Values of the login that the network refuses. */
  readonly wrong: Readonly<Record<string, string>>;
  /** Keys that the login writes. Default: `login`. */
  readonly written?: Readonly<Record<string, unknown>>;
  /** The plugin keeps something of the login itself, so that `written` does not replace the login. Default false. */
  readonly keepsLogin?: boolean;
  /** Somebody scans the code that the login shows. Absent: the login shows none. @param code its content, or an image of it as a data URL */
  scans?(code: string): void | Promise<void>;
  /** Called with the HTTP address of each gateway that starts: networks with webhooks call it, again until it accepts. */
  meets?(gateway: string): void;
  /** Somebody writes a direct message. */
  says(text: string): void;
  /** Somebody writes a direct message with a file of so many bytes, which cannot be downloaded. Absent: people cannot send files. */
  sends?(text: string, bytes: number): void;
  /** Somebody presses the button with this label, of the last message that has one. Absent: the network has no buttons. */
  presses?(label: string, gateway: string): Promise<void> | void;
  /** Texts that the bot has sent or edited, oldest first. */
  heard(): readonly string[];
  /** Id of the person who writes. */
  readonly person: string;
  /** Session of the person. Default: the main session. */
  readonly sessionKey?: string;
  /** Ids of sent messages by which the network recognizes a repetition. Absent: it recognizes none. */
  sentIds?(): readonly unknown[];
  /** The network stops answering, without closing anything. Absent: there is no network beside the gateway. */
  falls?(): void;
  /** Milliseconds within which the account tells that the network is silent. Default 5000. */
  readonly silentMs?: number;
}

/** Exported as `network` by `test/plugins/<channel>/network.ts`. */
export type StartNetwork = (t: TestContext) => Promise<TestNetwork>;

/** The last object with this value anywhere in the sent messages. */
export function lastWith(key: string, value: unknown, sent: unknown): Record<string, unknown> {
  const objects = (one: unknown): Record<string, unknown>[] =>
    typeof one === "object" && one !== null
      ? [...Object.values(one).flatMap(objects), one as Record<string, unknown>] // any object has string keys
      : [];
  const found = objects(sent).findLast((one) => isDeepStrictEqual(one[key], value));
  if (!found) throw new Error(`no message has ${JSON.stringify(value)}`);
  return found;
}

/** Enters the values and scans the codes until the login is done, or is refused. */
export async function logIn(client: GatewayClient, network: TestNetwork, values: Readonly<Record<string, string>>) {
  const { loginId, step: first } = await client.call(channelLogin.start, { channel: network.id });
  const asked: string[] = [];
  for (let step = first; ;) {
    if (step.kind === "done") return { asked };
    for (const { key, help } of step.fields ?? []) {
      assert.ok(help, `${key} says where people find it`);
      asked.push(key);
    }
    const answers = (step.fields ?? []).flatMap(({ key }) => (key in values ? [[key, values[key] ?? ""]] : []));
    const next = client.call(channelLogin.next, { loginId, answers: Object.fromEntries(answers) });
    if (step.kind === "show") await network.scans?.(step.qr ?? step.url ?? "");
    ({ step } = await next);
  }
}
