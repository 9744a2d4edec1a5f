/** Style sheets of views stay loaded when people open another view, so each one may style only its own view and dialogs. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { it } from "node:test";
import { root } from "../../checkout.ts";

it("the style sheet of a view applies only to this view and to dialogs", () => {
  const views = join(root, "plugins/control-panel/ui/views");
  const files = readdirSync(views, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".css"));
  assert.ok(files.length > 10);
  for (const file of files) {
    const own = `main[data-view="${basename(file, ".css")}"]`;
    const outer = readFileSync(join(views, file), "utf8")
      .split("\n")
      .filter((line) => /^[^\s}/]/.test(line));
    for (const line of outer)
      assert.ok(
        [`:where(${own}, dialog) {`, `${own} {`].includes(line) || line.startsWith("@keyframes "),
        `${file}: ${line}`,
      );
  }
});
