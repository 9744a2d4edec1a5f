/** What this browser keeps for each gateway: its device key, which scripts can use but not read, and the token issued to it. */

export interface KeptGateway {
  /** WebSocket address of the gateway: `ws://host:port`. */
  readonly url: string;
  readonly keys: CryptoKeyPair;
  /** Base64url of the 32 bytes of the public key. */
  readonly publicKey: string;
  /** Hex SHA-256 of the public key. */
  readonly deviceId: string;
  readonly token?: string;
  /** Scopes of the token. */
  readonly scopes?: readonly string[];
}

const NAME = "svc-panel";
const STORE = "gateways";

function open(): Promise<IDBDatabase> {
  const request = indexedDB.open(NAME, 1);
  request.onupgradeneeded = () => request.result.createObjectStore(STORE, { keyPath: "url" });
  return settled(request);
}

function settled<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error ?? new Error("the browser's storage failed"));
  });
}

async function withStore<T>(mode: IDBTransactionMode, work: (store: IDBObjectStore) => IDBRequest<T>): Promise<T> {
  const database = await open();
  try {
    return await settled(work(database.transaction(STORE, mode).objectStore(STORE)));
  } finally {
    database.close();
  }
}

export async function readKept(url: string): Promise<KeptGateway | undefined> {
  return (await withStore("readonly", (store) => store.get(url))) as KeptGateway | undefined;
}

export async function keep(gateway: KeptGateway): Promise<void> {
  await withStore("readwrite", (store) => store.put(gateway));
}

/** Forgets the token; the key stays, so that an approval of this browser stays valid. */
export async function forgetToken(url: string): Promise<void> {
  const kept = await readKept(url);
  if (!kept) return;
  const { token: _token, scopes: _scopes, ...rest } = kept;
  await keep(rest);
}

/** A choice of people for this browser. `undefined`: none, or the browser refuses storage. */
export function preference(key: string): string | undefined {
  try {
    return localStorage.getItem(key) ?? undefined;
  } catch {
    return undefined;
  }
}

/** Without storage the choice lives as long as the page. */
export function keepPreference(key: string, value: string): void {
  try {
    localStorage.setItem(key, value);
  } catch {
    // The page says by itself what does not work without storage.
  }
}
