/** Version of the gateway, from its package. */
import { createRequire } from "node:module";

/** `host/package.json` lies one directory above the bundle (`dist/`) and above nothing else that imports this. */
function readVersion(): string {
  const require = createRequire(import.meta.url);
  for (const candidate of ["../package.json", "./package.json", "../../host/package.json"]) {
    try {
      const { name, version } = require(candidate) as { name?: string; version?: string };
      if (name === "@svc/host" && version) return version;
    } catch {
      // next
    }
  }
  return "0.0.0";
}

export const VERSION = process.env["SVC_VERSION"]?.trim() || readVersion();
