import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { MAX_ATTACHMENT_BYTES, readAttachments } from "@svc/kit/media";

const png = Buffer.concat([Buffer.from("\x89PNG\r\n\x1a\n", "latin1"), Buffer.alloc(16)]);
const base64 = (bytes: Buffer) => bytes.toString("base64");
const ofSize = (bytes: number) => base64(Buffer.concat([png, Buffer.alloc(bytes - png.length)]));

describe("attachments", () => {
  const images: [string, Buffer, string][] = [
    ["png", png, "image/png"],
    ["jpeg", Buffer.from([0xff, 0xd8, 0xff, 0xe0, 1, 2]), "image/jpeg"],
    ["gif", Buffer.from("GIF89a......"), "image/gif"],
    ["webp", Buffer.from("RIFF....WEBPVP8 "), "image/webp"],
  ];
  for (const [kind, bytes, mimeType] of images) {
    it(`knows a ${kind} by its bytes, whatever was declared`, () => {
      const content = base64(bytes);
      const { images: found } = readAttachments([{ content, mimeType: "text/plain" }]);
      assert.deepEqual(found, [{ type: "image", data: content, mimeType }]);
    });
  }

  it("takes data URLs, line breaks in the base64 and bytes of callers inside the process", () => {
    const data = base64(png);
    const contents = [
      `data:image/png;base64,${data}`,
      `data:image/jpeg;name=a.jpg;base64,${data}`,
      `${data.slice(0, 8)}\n${data.slice(8)}`,
      new Uint8Array(png),
    ];
    const { images: found } = readAttachments(contents.map((content) => ({ content })));
    assert.deepEqual(
      found.map((image) => image.data),
      [data, data, data, data],
    );
  });

  it("drops what is no image and names it", () => {
    const { images: found, dropped } = readAttachments([{ fileName: "a.txt", content: base64(Buffer.from("text")) }]);
    assert.deepEqual([found.length, dropped], [0, ["a.txt is not a png, jpeg, gif or webp image"]]);
  });

  it("leaves out items without content", () => {
    assert.deepEqual(readAttachments([{}, null, "x", { content: "" }, { content: "  " }, { content: 5 }]), {
      images: [],
      dropped: [],
    });
  });

  const refused: [string, string, RegExp][] = [
    ["text that is no base64", "not base64!", /attachment 1: content is not base64/],
    ["base64 that is cut off", base64(png).slice(0, -1), /not base64/],
    ["a data URL that is not base64", "data:text/plain,hello", /not base64/],
    ["nothing", "data:image/png;base64,", /is empty/],
    ["too much", ofSize(MAX_ATTACHMENT_BYTES + 1), /5000001 bytes, at most 5000000/],
  ];
  for (const [why, content, message] of refused) {
    it(`refuses ${why}`, () =>
      assert.throws(() => readAttachments([{ content }]), { code: "INVALID_REQUEST", message }));
  }

  it("takes exactly 5,000,000 bytes", () => {
    assert.equal(readAttachments([{ content: ofSize(MAX_ATTACHMENT_BYTES) }]).images.length, 1);
  });
});
