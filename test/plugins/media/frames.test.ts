/** Pictures of videos, with the real ffmpeg. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { sniffImage } from "@svc/kit/media";
import { timesOf } from "../../../plugins/media/understanding/frames.ts";
import { directory, put } from "../../directory.ts";
import { without } from "../../programs.ts";
import { colourOf, tone, video } from "./sound-files.ts";
import { NO_FFMPEG, parts } from "./understanding.ts";

describe("times of pictures", () => {
  const cases: [seconds: number | undefined, count: number, times: number[]][] = [
    [8, 4, [1, 3, 5, 7]],
    [8, 1, [4]],
    [0.2, 4, [0]],
    [undefined, 4, [0]],
  ];
  for (const [seconds, count, times] of cases)
    it(`${count} of ${seconds} s`, () => assert.deepEqual(timesOf(seconds, count), times));
});

describe("a video", { skip: without("ffmpeg"), timeout: 120_000 }, () => {
  it("becomes pictures of its whole length, in order", async (t) => {
    const { frames, left } = parts(t);
    const { images, seconds, hasSound } = await frames.keyFrames({ bytes: video(4) }, { max: 4 });
    assert.deepEqual([images.length, seconds, hasSound], [4, 4, true]);
    const bytes = images.map(({ data }) => Buffer.from(data, "base64"));
    assert.deepEqual(new Set(bytes.map((one) => sniffImage(one))), new Set(["image/jpeg"]));
    const reds = bytes.map((one) => (colourOf(one)[0] ?? 0) > 128);
    assert.deepEqual(reds, [true, true, false, false]);
    assert.deepEqual(left(), []);
  });

  it("has no more pictures than are asked for and configured, none larger than 1024", async (t) => {
    const { frames, reconfigure } = parts(t);
    const bytes = video(2, { sound: false, size: "2048x64" });
    const { images, hasSound } = await frames.keyFrames({ bytes }, { max: 2 });
    assert.deepEqual([images.length, hasSound], [2, false]);
    const jpeg = Buffer.from(images[0]?.data ?? "", "base64");
    const frame = jpeg.indexOf(Buffer.from([0xff, 0xc0])); // start of frame: length, precision, height, width
    assert.deepEqual([jpeg.readUInt16BE(frame + 7), jpeg.readUInt16BE(frame + 5)], [1_024, 32]);
    reconfigure({ video: { maxFrames: 1 } });
    assert.equal((await frames.keyFrames({ bytes }, { max: 4 })).images.length, 1);
  });

  const refused: [what: string, bytes: () => Buffer, config: object, message: RegExp][] = [
    ["of sound only", () => tone("m4a"), {}, /no pictures/],
    ["cut off", () => video(2).subarray(0, 900), {}, /damaged/],
    ["that is a playlist", () => Buffer.from("#EXTM3U\n#EXTINF:1,\nhttp://127.0.0.1:9/x\n"), {}, /damaged/],
    ["that is a list of files", () => Buffer.from("ffconcat version 1.0\nfile /etc/hostname\n"), {}, /damaged/],
    ["that is a text", () => Buffer.from("hello ".repeat(1_000)), {}, /damaged/],
    ["with too many bytes", () => Buffer.alloc(11), { video: { maxBytes: 10 } }, /tools\.media\.video\.maxBytes/],
    ["that is off", () => Buffer.alloc(1), { video: { enabled: false } }, /tools\.media\.video\.enabled/],
    [
      "in another session",
      () => Buffer.alloc(1),
      { video: { scope: { default: "deny" } } },
      /tools\.media\.video\.scope/,
    ],
  ];
  for (const [what, bytes, config, message] of refused) {
    it(`${what} is refused, and nothing is left`, async (t) => {
      const { frames, left } = parts(t, { config });
      await assert.rejects(frames.keyFrames({ bytes: bytes() }, { max: 4 }), { message });
      assert.deepEqual(left(), []);
    });
  }

  it("whose data is damaged behind an intact header ends its own process only", async (t) => {
    const bytes = video(4);
    const at = bytes.indexOf("mdat");
    bytes.fill(0xff, at + 4, at + 4 + 2_000);
    const { frames, left } = parts(t);
    await frames.keyFrames({ bytes }, { max: 4 }).catch((error: unknown) => {
      assert.match(String(error), /damaged|no picture/);
    });
    assert.deepEqual(left(), []);
    assert.equal((await frames.keyFrames({ bytes: video(2) }, { max: 1 })).images.length, 1);
  });

  it("whose header declares an enormous picture is refused", async (t) => {
    const bytes = video(2);
    const box = bytes.indexOf("avc1") + 4; // of the sample entry: width and height, 16 bits each, at 24
    bytes.writeUInt16BE(65_000, box + 24);
    bytes.writeUInt16BE(65_000, box + 26);
    const header = bytes.indexOf("tkhd") + 4; // width and height at the end of the box, 16.16
    bytes.writeUInt32BE(65_000 * 65_536, header + 76);
    bytes.writeUInt32BE(65_000 * 65_536, header + 80);
    const { frames } = parts(t);
    await frames.keyFrames({ bytes }, { max: 1 }).then(
      // The decoder may trust the size in the data instead.
      ({ images }) => assert.ok((images[0]?.data.length ?? 0) < 100_000),
      (error: unknown) => assert.match(String(error), /pixels|damaged|no picture/),
    );
  });

  const lists: [what: string, text: string][] = [
    ["a list of files", "ffconcat version 1.0\nfile other.mp4\n"],
    ["a playlist", "#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXTINF:4,\nother.mp4\n#EXT-X-ENDLIST\n"],
  ];
  for (const [what, text] of lists) {
    it(`that is ${what} opens no other file, although that one is a video`, async (t) => {
      const { ffmpeg } = parts(t);
      const place = directory(t);
      const [list, other] = [join(place, "list.m3u8"), join(place, "other.mp4")];
      put(list, text);
      writeFileSync(other, video(2));
      const { signal } = new AbortController();
      assert.equal((await ffmpeg.facts(other, signal)).hasPictures, true);
      await assert.rejects(ffmpeg.facts(list, signal), { code: "INVALID_REQUEST", message: /damaged/ });
      await assert.rejects(ffmpeg.picture(list, 0, signal), { code: "INVALID_REQUEST", message: /damaged/ });
    });
  }

  it("waits for its caller's signal", async (t) => {
    const { frames } = parts(t);
    const aborted = AbortSignal.abort(new Error("gone"));
    await assert.rejects(frames.keyFrames({ bytes: video(2) }, { max: 1 }, aborted), /gone/);
  });
});

describe("a machine without ffmpeg", () => {
  it("says what to install", async (t) => {
    const { frames } = parts(t, { ffmpeg: NO_FFMPEG });
    await assert.rejects(frames.keyFrames({ bytes: Buffer.alloc(9) }, { max: 1 }), {
      code: "UNAVAILABLE",
      message: /ffprobe is not installed; install the package ffmpeg/,
    });
  });
});
