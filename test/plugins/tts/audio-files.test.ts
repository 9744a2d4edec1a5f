/** Temporary audio files: how long each stays. */
import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { describe, it } from "node:test";
import { createFakeClock } from "@svc/sdk/testing";
import { createAudioFiles } from "../../../plugins/tts/audio-files.ts";
import { directory } from "../../directory.ts";
import { until } from "../../until.ts";
import { MP3 } from "./scene.ts";

const audio = { bytes: MP3, extension: ".mp3" };

describe("an audio file", () => {
  it("is deleted after 5 minutes", async (t) => {
    const [place, clock] = [directory(t), createFakeClock()];
    const files = createAudioFiles(() => place, clock);
    const path = await files.add(audio);
    await clock.advance(299_999);
    assert.ok(existsSync(path));
    await clock.advance(1);
    await until(() => !existsSync(path), "the file to be deleted");
  });

  it("stays if a later one cannot be written", async (t) => {
    const place = directory(t);
    const files = createAudioFiles(() => place, createFakeClock());
    const first = await files.add(audio);
    await assert.rejects(files.add({ ...audio, extension: "/no/such/directory" }), { code: "UNAVAILABLE" });
    await files.add(audio);
    assert.ok(existsSync(first));
  });

  it("replaces the oldest one of 50", async (t) => {
    const place = directory(t);
    const files = createAudioFiles(() => place, createFakeClock());
    const paths: string[] = [];
    for (let count = 0; count < 51; count++) paths.push(await files.add(audio));
    assert.deepEqual(
      paths.filter((path) => !existsSync(path)),
      paths.slice(0, 1),
    );
    await files.close();
    assert.deepEqual(readdirSync(place), []);
  });
});
