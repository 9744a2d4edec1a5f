/** Places of secrets outside the configuration, for the test that searches for them: a variable, a file, a program. */
import { realpath } from "node:fs/promises";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { directory, put } from "../directory.ts";

/** Planted secrets, by place. */
export interface Planted {
  readonly byEnvironment: string;
  readonly byFile: string;
  readonly byProgram: string;
  /** Of the program: on its command line, in its environment, and in its error output. */
  readonly argument: string;
  readonly variable: string;
  readonly complaint: string;
  /** An id without a value. */
  readonly missingId: string;
}

/** Name of the variable. */
export const VARIABLE = "CANARY_REFERENCE";

/** Next to the state directory; removed with the test. */
export async function keepSecrets(t: TestContext, planted: Planted) {
  const kept = directory(t, "svc-vault-");
  const [vault, program] = [join(kept, "vault.json"), join(kept, "find.mjs")];
  put(vault, JSON.stringify({ acme: { key: planted.byFile } }), 0o600);
  put(program, programText(planted), 0o600);
  const reference = (name: string, apiKey: object) => [
    name,
    { baseUrl: "http://127.0.0.1:9/v1", apiKey, models: [{ id: "m" }] },
  ];
  const find = { source: "exec", command: await realpath(process.execPath), args: [program, planted.argument] };
  return {
    env: { [VARIABLE]: planted.byEnvironment },
    secrets: {
      providers: {
        vault: { source: "file", path: vault },
        finder: { ...find, env: { FINDER_KEY: planted.variable } },
        failing: { ...find, env: { FAIL: "1" } },
      },
    },
    /** Entries of `models.providers`; each has one model, `m`. */
    providers: Object.fromEntries([
      reference("byenv", { source: "env", id: VARIABLE }),
      reference("byfile", { source: "file", provider: "vault", id: "/acme/key" }),
      reference("byprogram", { source: "exec", provider: "finder", id: "acme/key" }),
      reference("missing", { source: "file", provider: "vault", id: `/${planted.missingId}` }),
      reference("failing", { source: "exec", provider: "failing", id: planted.missingId }),
    ]) as Record<string, object>,
  };
}

/** Answers every id with the same value, or fails. */
function programText({ byProgram, complaint }: Planted): string {
  return `let text = "";
process.stdin.on("data", (chunk) => (text += chunk));
process.stdin.on("end", () => {
  if (process.env.FAIL) {
    console.error(${JSON.stringify(complaint)});
    console.log(${JSON.stringify(complaint)});
    process.exit(3);
  }
  const values = Object.fromEntries(JSON.parse(text).ids.map((id) => [id, ${JSON.stringify(byProgram)}]));
  console.log(JSON.stringify({ protocolVersion: 1, values }));
});
`;
}
