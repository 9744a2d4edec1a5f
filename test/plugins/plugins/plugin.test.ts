import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { it } from "node:test";
import { root } from "../../checkout.ts";

it("reads neither the host nor the installer before something is installed", () => {
  const dist = join(root, "plugins/plugins/dist");
  const seen = new Set(["plugin.js"]);
  for (const file of seen) {
    const text = readFileSync(join(dist, file), "utf8");
    for (const [, name = ""] of text.matchAll(/^(?:import|export|\} from)\b[^;(]*?"([^"]+)";$/gm)) {
      assert.ok(!/^@svc\/(?:host|kit)|^tar$|^es-module-lexer$/.test(name), `${file} imports ${name}`);
      if (name.startsWith("./")) seen.add(name.slice(2));
    }
    assert.doesNotMatch(text, /InstallFailure/);
  }
});
