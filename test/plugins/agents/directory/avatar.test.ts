import assert from "node:assert/strict";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { sniffImage } from "@svc/kit/media";
import { avatarUrl, MAX_AVATAR_BYTES } from "../../../../plugins/agents/directory/avatar.ts";
import { temporaryDirectory } from "../temporary.ts";

const png = Buffer.from("\x89PNG\r\n\x1a\nrest", "latin1");

describe("an image", () => {
  const rows: [string, string, string | undefined][] = [
    ["PNG", "\x89PNG\r\n\x1a\n", "image/png"],
    ["JPEG", "\xff\xd8\xff\xe0", "image/jpeg"],
    ["GIF", "GIF89a", "image/gif"],
    ["WebP", "RIFF\0\0\0\0WEBP", "image/webp"],
    ["SVG", "<svg xmlns=", undefined],
    ["text", "secret", undefined],
    ["nothing", "", undefined],
  ];
  for (const [what, bytes, type] of rows) {
    it(`is told by its bytes: ${what}`, () => assert.equal(sniffImage(Buffer.from(bytes, "latin1")), type));
  }
});

describe("an avatar's URL", () => {
  it("is a data URL for an image of the workspace", async (t) => {
    const directory = await temporaryDirectory(t);
    await mkdir(join(directory, "images"));
    await writeFile(join(directory, "images", "a.png"), png);
    const url = `data:image/png;base64,${png.toString("base64")}`;
    assert.equal(await avatarUrl(directory, "images/a.png"), url);
    assert.equal(await avatarUrl(directory, "./images/a.png"), url);
  });

  it("is the URL that was given", async () => {
    assert.equal(await avatarUrl("/nowhere", "https://x.test/a.png"), "https://x.test/a.png");
    assert.equal(await avatarUrl("/nowhere", "data:image/png;base64,AA"), "data:image/png;base64,AA");
  });

  it("is absent for everything else", async (t) => {
    const directory = await temporaryDirectory(t);
    const workspace = join(directory, "workspace");
    await mkdir(workspace);
    await writeFile(join(directory, "secret.png"), png);
    await writeFile(join(workspace, "text.png"), "secret");
    await writeFile(join(workspace, "large.png"), Buffer.concat([png, Buffer.alloc(MAX_AVATAR_BYTES)]));
    await symlink(join(directory, "secret.png"), join(workspace, "link.png"));
    const nothing = ["🦉", undefined, "javascript:x", "missing.png", "text.png", "large.png", "link.png"];
    for (const avatar of [...nothing, "../secret.png", join(directory, "secret.png")]) {
      assert.equal(await avatarUrl(workspace, avatar), undefined, avatar);
    }
  });
});
