/** The source `file`: secrets in a private file. Spec: http/config.md §6. */
import { readPrivateFile } from "@svc/kit/files";
import { withDeadline } from "@svc/kit/time";
import { type Clock, untilAborted } from "@svc/sdk";
import type { SecretProvider, SecretSource } from "@svc/sdk/secrets";
import { follow, isPointer } from "./json-pointer.ts";
import { codeOf } from "./printable.ts";
import { FileSettings, problemOf, settingsOf } from "./source-settings.ts";

/** Id of the secret in a file of mode `singleValue`. Spec. */
const WHOLE = "value";

export interface FileSourceOptions {
  readonly clock: Pick<Clock, "setTimeout">;
  /** User of the gateway. Default: the user of the process; `undefined` on platforms without user ids. */
  readonly uid?: number | undefined;
}

export function createFileSource({ clock, uid = process.getuid?.() }: FileSourceOptions): SecretSource {
  return {
    check: (provider) => problemOf(FileSettings, provider),

    checkId(id, provider) {
      if (settingsOf(FileSettings, provider).mode === "singleValue") {
        return id === WHOLE
          ? undefined
          : `the id must be \`${WHOLE}\`: secrets.providers.${provider.name} is a single value`;
      }
      return isPointer(id)
        ? undefined
        : "the id must be a JSON pointer like /keys/main, with ~0 for ~ and ~1 for / in a key";
    },

    async resolve(provider, ids, signal) {
      const { mode, maxBytes, timeoutMs } = settingsOf(FileSettings, provider);
      const late = () =>
        `secrets.providers.${provider.name}: the file was not read within ${timeoutMs} ms; check the disk, or raise timeoutMs`;
      // Network file systems may hang forever.
      const bytes = await withDeadline({ ms: timeoutMs, clock, signals: [signal], late }, (ending) =>
        untilAborted(readPrivate(provider, { maxBytes, uid }), ending),
      ).catch((error: unknown) => {
        if (signal.aborted) fail(provider, "the lookup was stopped");
        throw error;
      });
      const text = decode(bytes, provider);
      const find = mode === "json" ? finderIn(parse(text, provider)) : () => text.replace(/\r?\n$/u, "");
      return new Map(
        ids.flatMap((id) => {
          const value = find(id);
          return typeof value === "string" && value !== "" ? [[id, value] as const] : [];
        }),
      );
    },
  };
}

function finderIn(root: unknown): (id: string) => unknown {
  return (id) => follow(root, id);
}

/** @throws Error with the cause and the next step */
async function readPrivate(
  provider: SecretProvider,
  { maxBytes, uid }: { readonly maxBytes: number; readonly uid: number | undefined },
): Promise<Buffer> {
  const { path } = settingsOf(FileSettings, provider);
  const found = await readPrivateFile(path, { maxBytes, denied: 0o066, uid }).catch((error: unknown) =>
    fail(provider, `${path} cannot be opened (${codeOf(error)}); make it readable for the gateway's user`),
  );
  if (!("fault" in found)) return found;
  switch (found.fault) {
    case "missing":
      return fail(provider, `${path} does not exist; create the file, or correct path`);
    case "link":
      return fail(provider, `${path} is a symbolic link; name the file itself`);
    case "special":
      return fail(provider, `${path} is not a regular file; name a file`);
    case "foreign":
      return fail(provider, `${path} belongs to another user; run: chown ${uid} '${path}'`);
    case "open-to-others": {
      const octal = found.mode.toString(8).padStart(4, "0");
      return fail(provider, `${path} can be read or written by others (mode ${octal}); run: chmod 600 '${path}'`);
    }
    case "too-large":
      return fail(provider, `${path} has more than ${maxBytes} bytes; raise maxBytes, or use a smaller file`);
  }
}

function decode(bytes: Buffer, provider: SecretProvider): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return fail(provider, "the file is not text in UTF-8; convert it");
  }
}

/** The parser's own message would quote the file. */
function parse(text: string, provider: SecretProvider): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return fail(provider, 'the file is not JSON; correct it, or set mode to "singleValue"');
  }
}

function fail(provider: SecretProvider, why: string): never {
  throw new Error(`secrets.providers.${provider.name}: ${why}`);
}
