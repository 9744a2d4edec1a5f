// Builds the page into ../dist/ui. Contracts of the SDK are types here: at run time the page only needs names of methods and events,
// so the schemas stay out of it. Run by `.ci/build.mjs` after the SDK was compiled to .build/.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

/** Modules of the SDK that the page runs as they are: the client and its errors. */
const RUN = { "@svc/sdk/client": "sdk/client/index.ts", "@svc/sdk/errors": "sdk/errors.ts" };

function contracts() {
  const prefix = "\0contract:";
  return {
    name: "svc-contracts",
    enforce: "pre",
    resolveId(id) {
      if (id in RUN) return join(root, RUN[id]);
      if (id === "@svc/sdk" || id.startsWith("@svc/sdk/")) return prefix + id.slice("@svc/sdk/".length);
      if (id === "ws") return `${prefix}ws`; // only for clients outside of a browser
      return undefined;
    },
    async load(id) {
      if (!id.startsWith(prefix)) return undefined;
      const name = id.slice(prefix.length);
      if (name === "ws") return "export const WebSocket = undefined;";
      const file = join(root, ".build/sdk", name === "" ? "index.js" : `${name}/index.js`);
      const module = await import(pathToFileURL(file).href);
      const lines = Object.entries(module).flatMap(([key, value]) => {
        const plain = namesOf(value);
        return plain === undefined ? [] : [`export const ${key} = ${JSON.stringify(plain)};`];
      });
      return lines.join("\n");
    },
  };
}

/** A contract as `{ key: { name } }`, an event as `{ name }`, constants and tables of constants as they are; `undefined`: nothing for a page. */
function namesOf(value) {
  const isConstant = (one) => ["string", "number", "boolean"].includes(typeof one);
  if (isConstant(value)) return value;
  if (typeof value !== "object" || value === null) return undefined;
  if (Object.values(value).every(isConstant)) return value;
  if (typeof value.name === "string" && "payload" in value) return { name: value.name };
  const methods = Object.entries(value);
  const isContract =
    methods.length > 0 && methods.every(([, method]) => typeof method?.name === "string" && "params" in method);
  return isContract ? Object.fromEntries(methods.map(([key, { name }]) => [key, { name }])) : undefined;
}

export default {
  root: fileURLToPath(new URL(".", import.meta.url)),
  base: "./",
  logLevel: "warn",
  configFile: false,
  define: { VERSION: JSON.stringify(version) },
  plugins: [contracts()],
  build: {
    outDir: fileURLToPath(new URL("../.dist/ui", import.meta.url)),
    emptyOutDir: true,
    target: "es2023",
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    cssCodeSplit: true,
    reportCompressedSize: false,
    chunkSizeWarningLimit: 1_000,
    rolldownOptions: { checks: { bundlerTimings: false } },
  },
};
