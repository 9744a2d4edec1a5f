/** `svc media`: what it sends and prints. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { GatewayError } from "@svc/sdk";
import { wrapExternalContent } from "@svc/sdk/external-content";
import { runCommand } from "@svc/sdk/testing";
import commands from "../../../plugins/media/cli.ts";
import { directory } from "../../directory.ts";

const file = (t: TestContext, bytes: Buffer = Buffer.from("sound")) => {
  const path = join(directory(t), "file");
  writeFileSync(path, bytes);
  return path;
};
const text = wrapExternalContent("two\nkites", { source: "external", from: "description of a picture by fake/sees" });
const descriptions = { descriptions: [{ text, by: "fake/sees" }] };

describe("svc media", () => {
  it("transcribe prints the words", async (t) => {
    const answers = { "media.transcribe": { text: "hello\u001b[2J" } };
    const { printed, scopes, asked } = await runCommand(commands, "media transcribe", { args: [file(t)], answers });
    assert.equal(printed.length, 1);
    assert.match(String(printed[0]), /^hello/);
    assert.equal(String(printed[0]).includes("\u001b"), false);
    assert.deepEqual(scopes, ["operator.write"]);
    assert.deepEqual(asked[0]?.[1], { data: Buffer.from("sound").toString("base64") });
  });

  it("transcribe says so if there are none", async (t) => {
    const answers = { "media.transcribe": { text: "" } };
    const { printed } = await runCommand(commands, "media transcribe", { args: [file(t)], answers });
    assert.deepEqual(printed, ["(no words)"]);
  });

  it("describe prints each description without its marks", async (t) => {
    const answers = { "media.describe": descriptions };
    const { printed } = await runCommand(commands, "media describe", { args: [file(t)], answers });
    assert.deepEqual(printed, ["fake/sees: two\nkites"]);
    const json = await runCommand(commands, "media describe", { args: [file(t)], answers, json: true });
    assert.deepEqual(json.printed, [descriptions]);
  });

  it("name the file that cannot be read, and the key to look at", async (t) => {
    const missing = await runCommand(commands, "media describe", { args: ["/nowhere/x"] });
    assert.match(missing.message, /no file \/nowhere\/x/);
    const large = await runCommand(commands, "media describe", { args: [file(t, Buffer.alloc(18_000_001))] });
    assert.match(large.message, /at most 18000000 can be tried/);
    const answers = { "media.transcribe": new GatewayError("UNAVAILABLE", "no engine") };
    const refused = await runCommand(commands, "media transcribe", { args: [file(t)], answers });
    assert.deepEqual([refused.code, refused.message], [1, "no engine\nNext: svc config get tools.media"]);
  });
});
