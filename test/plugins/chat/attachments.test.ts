import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { imagesOf, imageTypeOf, MAX_ATTACHMENT_BYTES, readAttachments } from "../../../plugins/chat/attachments.ts";

const PNG = Buffer.from("\x89PNG\r\n\x1a\nrest", "latin1");
const png = PNG.toString("base64");

describe("attachments", () => {
  const same: [what: string, content: unknown][] = [
    ["base64 text", png],
    ["a data URL", `data:image/jpeg;name=a.jpg;base64,${png}`],
    ["base64 with line ends", `${png.slice(0, 8)}\r\n${png.slice(8)}\n`],
    ["bytes of an in-process caller", new Uint8Array(PNG)],
  ];
  for (const [what, content] of same) {
    it(`takes ${what}, and the type from the bytes`, () => {
      const read = readAttachments([{ content, mimeType: "image/gif" }]);
      assert.deepEqual(imagesOf(read), [{ type: "image", data: png, mimeType: "image/png" }]);
    });
  }

  it("drops items without usable content", () => {
    assert.deepEqual(readAttachments([{}, null, 7, { content: 7 }, { content: "" }, { content: "  " }]), []);
  });

  const text = Buffer.from("just text").toString("base64");
  it("tells what is not an image by name", () => {
    const read = readAttachments([{ content: text, fileName: "a.png", mimeType: "image/png" }, { content: text }]);
    assert.deepEqual(
      read.map(({ name, imageType }) => [name, imageType]),
      [
        ["a.png", undefined],
        ["attachment 2", undefined],
      ],
    );
    assert.deepEqual(imagesOf(read), []);
  });

  const refused: [what: string, content: string][] = [
    ["what is not base64", "not base64!"],
    ["base64 that is cut off", png.slice(0, -1)],
    ["a data URL that is not base64", "data:text/plain,hello"],
    ["an empty data URL", "data:image/png;base64,"],
    ["one byte too much", Buffer.alloc(MAX_ATTACHMENT_BYTES + 1).toString("base64")],
  ];
  for (const [what, content] of refused) {
    it(`refuses ${what}`, () => assert.throws(() => readAttachments([{ content }]), { code: "INVALID_REQUEST" }));
  }
  it("takes exactly 5,000,000 bytes", () =>
    assert.equal(readAttachments([{ content: Buffer.alloc(MAX_ATTACHMENT_BYTES).toString("base64") }]).length, 1));
});

describe("the type of an image", () => {
  const rows: [head: string, type: string | undefined][] = [
    ["\x89PNG\r\n\x1a\n", "image/png"],
    ["\xff\xd8\xff\xe0", "image/jpeg"],
    ["GIF89a", "image/gif"],
    ["RIFF\x01\x02\x03\x04WEBPVP8 ", "image/webp"],
    ["BM\x01\x02\x03\x04\0\0\0\0", "image/bmp"],
    ["II*\0", "image/tiff"],
    ["\0\0\0\x18ftypavif", "image/avif"],
    ["\0\0\0\x18ftypheic", "image/heic"],
    ["\0\0\0\x18ftypmp42", undefined],
    ["RIFF\x01\x02\x03\x04WAVE", undefined],
    ["%PDF-1.7", undefined],
    ["", undefined],
  ];
  for (const [head, type] of rows) {
    it(`of ${JSON.stringify(head)} is ${type ?? "unknown"}`, () =>
      assert.equal(imageTypeOf(Buffer.from(head, "latin1")), type));
  }
});
