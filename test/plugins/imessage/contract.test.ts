/** The contract suite of channels, against the BlueBubbles server and the imsg program of these tests. */
// own process: the tests start programs
import { describe, it } from "node:test";
import { channelContract } from "@svc/sdk/testing";
import { directory } from "../../directory.ts";
import { fakeImsg } from "./imsg-program.ts";
import { channelOf, openScene } from "./scene.ts";

const TARGETS = [
  "+1 (555) 000-1111",
  "sms:Ann@Example.com",
  "chat:iMessage;+;chat777",
  "chat_guid:any;-;+15550001111",
  "72645",
];
const GARBAGE = ["ann", "12", "+", "ann@", "chat:", "chat:777", "#team", "http://example.com", "1234567890123456"];

describe("the channel imessage", { timeout: 120_000 }, () => {
  it("keeps the contract with BlueBubbles and its private API", async (t) => {
    const { server, channel } = await openScene(t, { privateApi: true, pollMs: 250 });
    server.state.hasPrivateApi = true;
    const bodies = (line: RegExp, key: string) => () => server.of(line).map(({ body }) => String(body[key]));
    const network = {
      says: (text: string) => void server.says(text),
      heard: server.heard,
      cuts: () => void server.faults.push({ matches: /query/, status: 502 }),
      evidence: {
        edits: bodies(/\/edit$/, "editedMessage"),
        reactions: bodies(/\/react$/, "reaction"),
        typing: () => server.of(/\/typing$/).map(({ line }) => line),
        media: bodies(/\/attachment$/, "name"),
        replies: bodies(/message\/text$/, "selectedMessageGuid"),
      },
    };
    await channelContract(t, { channel, network, targets: TARGETS, garbage: GARBAGE });
  });

  it("keeps the contract with imsg", async (t) => {
    const imsg = fakeImsg(directory(t));
    const channel = await channelOf(t, { command: imsg.command, pollMs: 200 });
    const evidence = { media: () => imsg.calls("send").map(({ params }) => String(params["file"])) };
    const network = { says: (text: string) => imsg.says(text), heard: imsg.heard, cuts: imsg.kill, evidence };
    await channelContract(t, { channel, network, targets: TARGETS, garbage: GARBAGE, patienceMs: 20_000 });
  });
});
