/** Spec: http/auth.md §7.1. */
import assert from "node:assert/strict";
import type { IncomingHttpHeaders } from "node:http";
import { describe, it } from "node:test";
import { assert as check, boolean, constantFrom, integer, ipV4, ipV6, property, record, tuple } from "fast-check";
import { canonicalAddress, compileAddresses, proxyPolicy, resolvePeer } from "../../../host/auth/client-address.ts";

describe("the canonical spelling of an address", () => {
  const rows: [text: string, canonical: string | undefined][] = [
    ["10.0.0.1", "10.0.0.1"],
    [" 10.0.0.1\t", "10.0.0.1"],
    ["10.0.0.1:8080", "10.0.0.1"],
    ["10.0.0.1:65535", "10.0.0.1"],
    ["::ffff:10.0.0.1", "10.0.0.1"],
    ["::FFFF:10.0.0.1", "10.0.0.1"],
    ["::ffff:a00:1", "10.0.0.1"],
    ["0:0:0:0:0:ffff:0a00:0001", "10.0.0.1"],
    ["0:0:0:0:0:FFFF:10.0.0.1", "10.0.0.1"],
    ["[::ffff:10.0.0.1]:80", "10.0.0.1"],
    ["::ffff:10.0.0.1%eth0", "10.0.0.1"],
    ["::ffff:0:0", "0.0.0.0"],
    ["::ffff:ffff:ffff", "255.255.255.255"],
    ["::1", "::1"],
    ["0:0:0:0:0:0:0:1", "::1"],
    ["[::1]", "::1"],
    ["[::1]:443", "::1"],
    ["::", "::"],
    ["2001:DB8::0:1", "2001:db8::1"],
    ["2001:0db8:0000:0000:0000:0000:0000:0001", "2001:db8::1"],
    ["2001:db8:0:1:0:0:0:1", "2001:db8:0:1::1"],
    ["fe80::1%eth0", "fe80::1"],
    ["[fe80::1%eth0]:80", "fe80::1"],
    ["64:ff9b::1.2.3.4", "64:ff9b::102:304"],
    ["::127.0.0.1", "::7f00:1"], // not mapped: a separate address
    ["::7f00:1", "::7f00:1"],
    ["::1:80", "::1:80"], // without brackets a port cannot be distinguished from the address
    ["", undefined],
    ["unknown", undefined],
    ["localhost", undefined],
    ["127.1", undefined],
    ["127.0.1", undefined],
    ["2130706433", undefined],
    ["0x7f.0.0.1", undefined],
    ["0177.0.0.1", undefined],
    ["127.0.0.01", undefined],
    ["::ffff:0177.0.0.1", undefined],
    ["256.0.0.1", undefined],
    ["1.2.3.4.5", undefined],
    ["1.2.3.4%eth0", undefined],
    ["1.2.3.4:", undefined],
    ["1.2.3.4:65536", undefined],
    ["1.2.3.4:123456", undefined],
    ["1.2.3.4:x", undefined],
    ["[1.2.3.4]", undefined],
    ["[::1", undefined],
    ["::1]", undefined],
    ["[::1]x", undefined],
    ["[[::1]]", undefined],
    ["[::1]:80:90", undefined],
    ["1::2::3", undefined],
    ["::1%", undefined],
    ["１.２.３.４", undefined],
    ["10.0.0.1/8", undefined],
    [`::1%${"z".repeat(200)}`, undefined],
    [`${" ".repeat(200)}10.0.0.1`, undefined],
  ];
  for (const [text, canonical] of rows) {
    it(`${JSON.stringify(text.slice(0, 60))} is ${canonical ?? "no address"}`, () =>
      assert.equal(canonicalAddress(text), canonical));
  }

  const groupsOf = (address: string) => {
    const [head = "", tail] = address.split("::");
    const left = head ? head.split(":") : [];
    const right = tail ? tail.split(":") : [];
    return tail === undefined ? left : [...left, ...Array<string>(8 - left.length - right.length).fill("0"), ...right];
  };

  it("is the same for all spellings of an IPv4 address [H7.1.4]", () => {
    const spelled = record({ address: ipV4(), port: integer({ min: 0, max: 65_535 }) });
    check(
      property(spelled, ({ address, port }) => {
        const [a = 0, b = 0, c = 0, d = 0] = address.split(".").map(Number);
        const group = (high: number, low: number) => ((high << 8) | low).toString(16);
        const mapped = `::ffff:${group(a, b)}:${group(c, d)}`;
        const expanded = `0:0:0:0:0:ffff:${group(a, b).padStart(4, "0")}:${group(c, d).padStart(4, "0")}`;
        const spellings = [
          address,
          `${address}:${port}`,
          `::ffff:${address}`,
          `::FFFF:${address}`,
          mapped,
          expanded,
          expanded.toUpperCase(),
          `[${mapped}]`,
          `[${expanded}]:${port}`,
          `${mapped}%1`,
        ];
        for (const spelling of spellings) assert.equal(canonicalAddress(spelling), address, spelling);
      }),
    );
  });

  it("is the same for all spellings of an IPv6 address, including itself", () => {
    check(
      property(ipV6(), (address) => {
        const one = canonicalAddress(address);
        assert.ok(one, address);
        assert.equal(canonicalAddress(one), one);
        if (address.includes(".")) return;
        const groups = groupsOf(address);
        const padded = groups.map((group) => group.padStart(4, "0")).join(":");
        for (const spelling of [padded, padded.toUpperCase(), `[${padded}]`, `[${padded}]:1`, `${padded}%lo`])
          assert.equal(canonicalAddress(spelling), one, spelling);
      }),
    );
  });
});

describe("a list of addresses and networks [H1.13]", () => {
  const rows: [entry: string, address: string, contains: boolean][] = [
    ["10.0.0.1", "10.0.0.1", true],
    ["10.0.0.1", "::ffff:10.0.0.1", true],
    ["::ffff:10.0.0.1", "10.0.0.1", true],
    [" 10.0.0.1 ", "10.0.0.1", true],
    ["10.0.0.1", "10.0.0.2", false],
    ["10.0.0.0/8", "10.255.0.1", true],
    ["10.0.0.0/8", "11.0.0.1", false],
    ["10.1.2.3/8", "10.9.9.9", true],
    ["10.0.0.0/8", "::ffff:a00:1", true],
    ["::ffff:10.0.0.0/104", "10.9.9.9", true],
    ["::ffff:0:0/96", "1.2.3.4", true],
    ["0.0.0.0/0", "1.2.3.4", true],
    ["0.0.0.0/0", "::1", false],
    ["::/0", "2001:db8::1", true],
    ["::/0", "10.0.0.1", false],
    ["::/0", "::ffff:10.0.0.1", false],
    ["2001:db8::/32", "2001:DB8:0:0::9", true],
    ["2001:db8::/32", "2001:db9::1", false],
    ["10.0.0.1/32", "10.0.0.1", true],
    ["10.0.0.1/32", "10.0.0.2", false],
    ["::1/128", "::1", true],
    ["fe80::1", "fe80::1%eth0", true],
    ["10.0.0.0/8", "unknown", false],
    ["10.0.0.0/8", "", false],
  ];
  for (const [entry, address, contains] of rows) {
    it(`${entry} ${contains ? "contains" : "does not contain"} ${address || "nothing"}`, () =>
      assert.equal(compileAddresses([entry]).contains(address), contains));
  }

  const malformed = [
    "",
    " ",
    "*",
    "localhost",
    "10.0.0",
    "10.0.0.0/33",
    "10.0.0.0/-1",
    "10.0.0.0/08",
    "10.0.0.0/",
    "10.0.0.0/8/8",
    "/8",
    "010.0.0.0/8",
    "::/129",
    "::ffff:0:0/90",
    "fe80::1%eth0",
    "[::1]",
    "10.0.0.1:80",
    "10.0.0.0/255.0.0.0",
  ];
  for (const entry of malformed) {
    it(`${JSON.stringify(entry)} matches nothing, and is reported [H7.1.4]`, () => {
      const set = compileAddresses([entry]);
      assert.deepEqual([set.empty, set.malformed], [true, [entry]]);
      for (const address of ["10.0.0.1", "127.0.0.1", "::1", "::", "0.0.0.0", "", entry])
        assert.equal(set.contains(address), false, address);
    });
  }

  it("without entries contains nothing", () => {
    const { empty, contains } = compileAddresses([]);
    assert.deepEqual([empty, contains("127.0.0.1"), contains("")], [true, false, false]);
  });

  it("reads each entry separately", () => {
    const { contains, malformed: wrong } = compileAddresses(["x", "10.0.0.0/8", "::1"]);
    assert.deepEqual([contains("10.1.1.1"), contains("::1"), contains("9.9.9.9"), wrong], [true, true, false, ["x"]]);
  });
});

describe("the client behind a peer", () => {
  const proxies = ["10.0.0.1", "10.0.1.0/24", "::1"];
  interface Row {
    readonly from?: string;
    readonly forwarded?: string | string[];
    readonly real?: string | string[];
    readonly fallback?: boolean;
    readonly trust?: string[];
  }
  const resolve = ({ from = "10.0.0.1", forwarded, real, fallback = false, trust = proxies }: Row) => {
    const headers = {
      ...(forwarded === undefined ? {} : { "x-forwarded-for": forwarded }),
      ...(real === undefined ? {} : { "x-real-ip": real }),
    } as IncomingHttpHeaders;
    const policy = proxyPolicy({ trustedProxies: trust, allowRealIpFallback: fallback });
    const { clientAddress, viaProxy } = resolvePeer(from, headers, policy);
    return [clientAddress, viaProxy];
  };
  const chain = (hops: number) => Array<string>(hops).fill("10.0.0.1").join(",");

  const rows: [why: string, row: Row, client: string | undefined, viaProxy: boolean][] = [
    [
      "peer not trusted: the peer, forwarding headers ignored",
      { from: "9.9.9.9", forwarded: "1.1.1.1" },
      "9.9.9.9",
      false,
    ],
    [
      "peer not trusted: real ip ignored [H7.1.1]",
      { from: "9.9.9.9", real: "1.1.1.1", fallback: true },
      "9.9.9.9",
      false,
    ],
    ["no proxy trusted", { trust: [], forwarded: "1.1.1.1" }, "10.0.0.1", false],
    ["only malformed entries trusted", { trust: ["*"], forwarded: "1.1.1.1" }, "10.0.0.1", false],
    ["peer trusted: its one hop", { forwarded: "1.1.1.1" }, "1.1.1.1", true],
    ["peer trusted in another spelling", { from: "::ffff:a00:1", forwarded: "1.1.1.1" }, "1.1.1.1", true],
    ["peer trusted by its network", { from: "10.0.1.77", forwarded: "1.1.1.1" }, "1.1.1.1", true],
    ["right to left [H7.1.2]", { forwarded: "6.6.6.6, 1.1.1.1" }, "1.1.1.1", true],
    ["trusted hops skipped [H7.1.2]", { forwarded: "6.6.6.6, 1.1.1.1, 10.0.1.5,10.0.0.1" }, "1.1.1.1", true],
    ["all hops trusted", { forwarded: "10.0.1.5, 10.0.0.1" }, undefined, true],
    ["entries that are not addresses skipped [H7.1.2]", { forwarded: "1.1.1.1, unknown, _hidden, " }, "1.1.1.1", true],
    ["only an invalid entry", { forwarded: "unknown" }, undefined, true],
    ["an empty header", { forwarded: "" }, undefined, true],
    ["commas only", { forwarded: ",,," }, undefined, true],
    ["a port and brackets", { forwarded: "[2001:DB8::1]:443" }, "2001:db8::1", true],
    ["a mapped hop", { forwarded: "::ffff:1.1.1.1" }, "1.1.1.1", true],
    ["octal is no address", { forwarded: "1.1.1.1, 0177.0.0.1" }, "1.1.1.1", true],
    ["repeated headers are one list", { forwarded: ["6.6.6.6", "1.1.1.1, 10.0.0.1"] }, "1.1.1.1", true],
    ["no header: undefined, also for loopback", { from: "::1" }, undefined, true],
    ["real ip without the fallback [H7.1.3]", { real: "1.1.1.1" }, undefined, true],
    ["real ip with the fallback [H7.1.3]", { real: " 1.1.1.1 ", fallback: true }, "1.1.1.1", true],
    ["real ip, repeated", { real: ["1.1.1.1", "2.2.2.2"], fallback: true }, undefined, true],
    ["real ip, repeated and joined", { real: "1.1.1.1, 2.2.2.2", fallback: true }, undefined, true],
    ["an invalid real ip", { real: "x", fallback: true }, undefined, true],
    ["real ip loses against a usable list", { forwarded: "1.1.1.1", real: "2.2.2.2", fallback: true }, "1.1.1.1", true],
    ["a very long list of invalid entries", { forwarded: `1.1.1.1,${"x,".repeat(5_000)}` }, undefined, true],
    ["the last of a very long list", { forwarded: `${"x,".repeat(5_000)}1.1.1.1` }, "1.1.1.1", true],
    ["as many trusted hops as are read", { forwarded: `1.1.1.1,${chain(63)}` }, "1.1.1.1", true],
    ["one more", { forwarded: `1.1.1.1,${chain(64)}` }, undefined, true],
    ["a very long hop", { forwarded: `1.1.1.1, ${"9".repeat(10_000)}` }, "1.1.1.1", true],
  ];
  for (const [why, row, client, viaProxy] of rows) it(why, () => assert.deepEqual(resolve(row), [client, viaProxy]));

  it("a closed socket has no address", () => {
    const peer = resolvePeer(undefined, {}, proxyPolicy({}));
    assert.deepEqual(peer, { remoteAddress: "", headers: {}, clientAddress: undefined, viaProxy: false });
  });

  it("entries that a client writes to the left of its own address are never used", () => {
    const hop = constantFrom("6.6.6.6", "127.0.0.1", "10.0.0.1", "junk", "", "::1");
    check(
      property(tuple(hop, hop, hop), boolean(), ipV4(), (claimed, fallback, real) => {
        if (compileAddresses(proxies).contains(real)) return;
        const forwarded = [...claimed, real, "10.0.1.9"].join(", ");
        assert.deepEqual(resolve({ forwarded, fallback, real: "6.6.6.6" }), [real, true]);
      }),
    );
  });
});
