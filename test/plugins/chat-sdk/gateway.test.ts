/** The plugin in a whole gateway: people and groups with ids as adapters write them. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { startScene, until } from "../channels/scene.ts";
import { author, installed, made, messageOf, tiny } from "./scene.ts";

const ANN = { ...author, userId: "users/1+a@b:c" };

describe("chat-sdk in a gateway", { timeout: 60_000 }, () => {
  it("answers people and threads of groups", async (t) => {
    const { adapter, of, chat, isStarted } = tiny();
    made.set("whole", () => adapter);
    const config = {
      adapter: "tiny-adapter",
      factory: "createTiny",
      options: { id: "whole" },
      allowFrom: [ANN.userId],
      groups: { "tiny:spaces/AbC": {} },
    };
    await startScene(t, ["chat-sdk"], { stateDir: await installed(t), config: { channels: { "chat-sdk": config } } });
    const answers = () => of("postMessage").map(([to]) => to);
    const says = async (threadId: string, text: string) =>
      chat().processMessage(adapter, threadId, messageOf({ text, author: ANN }));
    await until(() => isStarted(), "the start");
    await says("tiny:dm-1:c3BhY2Vz/x==", "echo direct");
    await until(() => answers().length === 1, "the answer to a person");
    await says("tiny:spaces/AbC:c3BhY2Vz", "@tinybot echo group");
    await until(() => answers().length === 2, "the answer in a group");
    await says("tiny:spaces/AbC:c3BhY2Vz", "echo not for the bot");
    await says("tiny:spaces/Other:1", "@tinybot echo of a group that is not listed");
    await says("tiny:dm-1:other", "echo last");
    await until(() => answers().length === 3, "the last answer");
    assert.deepEqual(answers(), ["tiny:dm-1:c3BhY2Vz/x==", "tiny:spaces/AbC:c3BhY2Vz", "tiny:dm-1:other"]);
  });
});
