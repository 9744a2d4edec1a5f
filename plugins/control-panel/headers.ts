/** Headers of the control panel. Spec: http/control-panel.md §5. */

const DIRECTIVES = [
  "default-src 'self'",
  "base-uri 'none'",
  "object-src 'none'",
  "frame-ancestors 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data: https:",
  "font-src 'self'",
  "connect-src 'self' ws: wss:",
];

/** Of every response of the panel, including its 404s. Choice: fonts and styles of other servers are not allowed. */
export const PANEL_HEADERS = {
  "Content-Security-Policy": DIRECTIVES.join("; "),
  "X-Frame-Options": "DENY",
  "Cache-Control": "no-cache",
} as const;

/**
 * The policy of a page from `gateway.controlUi.root` with scripts in its text. Choice: these scripts run, and no others that are not files;
 * such a page may also compile WebAssembly, and load what its scripts made.
 * @param hashes of the scripts: SHA-256, base64
 */
export function policyFor(hashes: readonly string[]): string {
  const scripts = hashes.map((hash) => ` 'sha256-${hash}'`).join("");
  const wider: Readonly<Record<string, string>> = {
    "script-src 'self'": `script-src 'self'${scripts} 'wasm-unsafe-eval'`,
    "img-src 'self' data: https:": "img-src 'self' data: blob: https:",
    "connect-src 'self' ws: wss:": "connect-src 'self' data: blob: ws: wss:",
  };
  const directives = DIRECTIVES.map((directive) => wider[directive] ?? directive);
  return [...directives, "media-src 'self' data: blob:", "worker-src 'self' blob:"].join("; ");
}

/** An SVG that is opened by itself is a document whose scripts must never run. */
export const SVG_HEADERS = { "Content-Security-Policy": [...DIRECTIVES, "sandbox"].join("; ") } as const;

/** A sandboxed page has an origin of its own, so its requests are those of a foreign page. These files are public. */
export const PUBLIC_HEADERS = {
  "Access-Control-Allow-Origin": "*",
  "Cross-Origin-Resource-Policy": "cross-origin",
} as const;

/**
 * Of a page of a plugin, which the panel shows in a frame: it runs scripts, but has no access to this origin and no
 * network.
 */
export const PAGE_HEADERS = {
  ...PUBLIC_HEADERS,
  "Cache-Control": "no-cache",
  "Content-Security-Policy": [
    "sandbox allow-scripts allow-forms allow-modals allow-popups",
    "default-src 'self' data: blob:",
    "script-src 'self'",
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data: blob:",
    "connect-src 'none'",
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'self'",
  ].join("; "),
} as const;
