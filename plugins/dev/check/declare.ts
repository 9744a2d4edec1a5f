/** `svc plugins declare [path]`: writes down what a built plugin declares, so that it sleeps until somebody uses it. */
import { resolve } from "node:path";
import { declarePlugin, readManifest } from "@svc/host";
import type { CommandContext } from "@svc/sdk/cli";
import { messageOf } from "@svc/sdk/errors";
import { refuse } from "../refusal.ts";

/** @param place directory of the package. @returns 0 when the file is written */
export async function declareAt(place: string, output: CommandContext): Promise<number> {
  const path = resolve(place);
  try {
    const manifest = readManifest(path);
    if (!manifest) return refuse(`${path}/package.json has no "svc.entry"\nNext: svc plugins new <name>`, output);
    const { file, awake } = await declarePlugin(manifest);
    if (output.json) output.print({ ok: true, file, ...(awake === undefined ? {} : { awake }) });
    else
      output.print(
        `${file}: ${awake === undefined ? "it sleeps until it is used" : `imported at the start: ${awake}`}`,
      );
    return 0;
  } catch (error) {
    return refuse(
      `${messageOf(error)}\nNext: build the plugin, then: svc plugins declare <directory of the plugin>`,
      output,
    );
  }
}
