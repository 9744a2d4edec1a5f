/** The contract of a channel. */
import { it } from "node:test";
import { channelContract } from "@svc/sdk/testing";
import { openScene } from "./scene.ts";
import { ADA, said, TOWN } from "./server.ts";

it("keeps the contract of a channel", { timeout: 120_000 }, async (t) => {
  const { server, channel, meet } = await openScene(t);
  const first = await meet();
  const conversation = { id: `${TOWN};messageid=1700000000001`, conversationType: "channel" };
  await server.delivers(said("hi", { conversation }));
  await first.stop();
  const json = () => server.activities().map((activity) => JSON.stringify(activity));
  let last = {};
  await channelContract(t, {
    channel,
    network: {
      says: (text) => server.delivers((last = said(text))),
      heard: server.heard,
      repeats: () => server.delivers(last),
      cuts: () => void server.faults.token.push("cut"),
      evidence: {
        edits: () => server.of(/^PUT .*activities/).map(({ body }) => String(body["text"])),
        typing: () => json().filter((text) => text.includes('"typing"')),
        media: json,
        buttons: json,
        polls: json,
        threads: () => server.of(/messageid%3D/).map(({ line }) => line),
        threadId: "1700000000001",
      },
    },
    targets: [`conversation:${TOWN}`, `user:${ADA}`, ADA, "19:a_b@unq.gbl.spaces", "a:1-_x"],
    garbage: ["@ada", "19:town", "user:ada", "conversation:", "29:", "a:", "#general", `user:${ADA}0`],
  });
});
