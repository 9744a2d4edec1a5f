/** The part of the guided setup about chat networks, with a channel of the test. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { invalidRequest, unavailable } from "@svc/sdk";
import type { Channel, ChannelLoginSteps } from "@svc/sdk/channels";
import { setupAt } from "../wizard/scene.ts";
import { fileGateway } from "../../conformance/file-gateway.ts";
import { pigeon } from "./pigeon.ts";

const FORM = {
  kind: "form",
  message: "Create a bot first.",
  fields: [
    { key: "token", label: "Token", help: "It is in the settings of the bot.", secret: true },
    { key: "room", label: "Room", optional: true },
  ],
} as const;

const form: ChannelLoginSteps = {
  start: () => FORM,
  async next({ answers }) {
    if (answers["token"] === "wrong-token") invalidRequest("pigeon post rejects wrong-token");
    if (answers["token"] === "late-token") unavailable("pigeon post is away");
    return { kind: "done", message: `Logged in as @bot.`, config: { token: answers["token"], room: answers["room"] } };
  },
};

const scan: ChannelLoginSteps = {
  start: () => ({ kind: "show", message: "Scan this.", url: "https://pigeon.example/x", qr: "pigeon:x", state: 1 }),
  next: async () => ({ kind: "done", message: "Scanned." }),
};

async function start(t: Parameters<typeof fileGateway>[0], login?: ChannelLoginSteps, accounts: object[] = []) {
  const more: Partial<Channel> = login ? { login } : {};
  const plugins = ["wizard", "channels", "storage-sqlite", pigeon({ accounts, more }).plugin];
  const running = await fileGateway(t, "{ channels: { pigeon: {} } }", { plugins });
  const setup = await setupAt(running.client);
  return { ...running, setup, first: await setup.start() };
}

describe("the part about chat networks", { timeout: 120_000 }, () => {
  it("asks for the fields of a login one by one, and again after a refusal, without showing the value", async (t) => {
    const { setup } = await start(t, form);
    assert.deepEqual(
      setup.step.options?.map(({ value, label }) => [value, label]),
      [
        ["", "None for now"],
        ["pigeon", "Pigeon"],
      ],
    );
    await setup.answer("pigeon");
    assert.equal(setup.step.message, "Create a bot first.\n\nIt is in the settings of the bot.\n\nToken:");
    assert.equal(setup.step.sensitive, true);
    await setup.answer("wrong-token");
    assert.equal(setup.step.message, "Room (optional):");
    await setup.answer("");
    assert.match(setup.step.message ?? "", /rejects .*\n\n.*Create a bot first[\s\S]*Token:$/);
    assert.doesNotMatch(setup.step.message ?? "", /wrong-token/);
    await setup.answer("right-token");
    await setup.answer("lobby");
    assert.match(setup.step.message ?? "", /Logged in as @bot\.[\s\S]*pairing approve[\s\S]*Connect a/);
    assert.equal((await setup.answer("")).status, "done");
  });

  it("shows a link and a QR code, and waits until one of them is used", async (t) => {
    const { setup } = await start(t, scan);
    await setup.answer("pigeon");
    assert.equal(setup.step.type, "note");
    assert.match(setup.step.message ?? "", /Scan this\.[\s\S]*https:\/\/pigeon\.example\/x[\s\S]*[█▀▄]/);
    await setup.answer();
    assert.match(setup.step.message ?? "", /^Scanned\./);
  });

  it("leads back to the list when the network is away or nothing was entered", async (t) => {
    const { setup } = await start(t, form);
    await setup.answer("pigeon");
    await setup.answer("late-token");
    await setup.answer("");
    assert.match(setup.step.message ?? "", /^pigeon post is away\n\nConnect a chat network\?/);
    await setup.answer("pigeon");
    await setup.answer("");
    assert.match(setup.step.message ?? "", /Nothing was entered/);
  });

  it("keeps what is connected by default, and asks nothing without a channel that has a login", async (t) => {
    const connected = await start(t, form, [{}]);
    assert.deepEqual(
      connected.setup.step.options?.map(({ label, hint }) => [label, hint]),
      [
        ["Keep pigeon", undefined],
        ["Pigeon", "already set up"],
      ],
    );
    const { first } = await start(t);
    assert.match(first.step?.message ?? "", /no channel with a login is loaded/);
  });
});
