import { test } from "node:test";
import { Channel } from "@svc/sdk/channels";
import { channelContract, contributionOf } from "@svc/sdk/testing";
import plugin from "../plugin.ts";
import { startLineServer } from "./line-server.ts";

test("sample-name fulfills the contract of a channel", async (t) => {
  const network = await startLineServer();
  t.after(() => network.close());
  const config = { channels: { "sample-name": { port: network.port } } };
  const channel = await contributionOf(t, Channel, "sample-name", { plugin, config });
  await channelContract(t, { channel, network, targets: ["ada", "#Garden", " #garden "], garbage: ["#", "two words"] });
});
