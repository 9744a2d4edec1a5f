"""The S3 server of `.ci/s3`: the proxy, account, container and object servers of OpenStack Swift in one process.

Usage: s3-server.py <directory>. The file `address` appears in the directory when the server answers.
"""
import base64
import hashlib
import hmac
import http.client
import json
import logging
import os
import random
import socket
import sys
from email.utils import formatdate

os.closerange(3, 256)  # what the caller left open

import eventlet
from eventlet import wsgi
from swift.account import server as account
from swift.common import utils
from swift.common.http_protocol import SwiftHttpProtocol
from swift.common.ring.builder import RingBuilder
from swift.common.wsgi import loadapp
from swift.container import server as container
from swift.obj import server as objects

ACCESS_KEY, SECRET, REGION, BUCKET = "test:tester", "testing", "us-east-1", "svc"

# The proxy waits long, and never sets a server aside after errors: a busy machine must not make a request fail.
PROXY = f"""
[DEFAULT]
log_level = WARNING
conn_timeout = 30
node_timeout = 60
[pipeline:main]
pipeline = catch_errors gatekeeper s3api tempauth bulk slo proxy-server
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
error_suppression_interval = 0
[filter:catch_errors]
use = egg:swift#catch_errors
[filter:gatekeeper]
use = egg:swift#gatekeeper
[filter:s3api]
use = egg:swift#s3api
location = {REGION}
[filter:tempauth]
use = egg:swift#tempauth
user_{ACCESS_KEY.replace(":", "_")} = {SECRET} .admin
[filter:bulk]
use = egg:swift#bulk
[filter:slo]
use = egg:swift#slo
"""


class Cache:
    """What Swift demands of memcached. Like memcached, it keeps no references to the values."""

    def __init__(self):
        self.values = {}

    def get(self, key, **_):
        return json.loads(self.values.get(key, "null"))

    def set(self, key, value, **_):
        self.values[key] = json.dumps(value)

    def delete(self, key, **_):
        self.values.pop(key, None)


def listen(port=None):
    """Listens on the port, or on a free one below the range that the system assigns to clients."""
    while True:
        sock = socket.socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            sock.bind(("127.0.0.1", port or random.randrange(10000, 30000)))
            sock.listen(4096)
            return sock
        except OSError:
            sock.close()
            if port:
                raise


def serve(sock, app):
    eventlet.spawn(
        wsgi.server, sock, app, utils.NullLogger(), protocol=SwiftHttpProtocol, socket_timeout=60,
        custom_pool=eventlet.GreenPool(1024), capitalize_response_headers=False)


def create_bucket(port):
    """Creates the bucket with a request to the S3 server, signed with version 2: the shortest signature."""
    date = formatdate(usegmt=True)
    text = f"PUT\n\n\n{date}\n/{BUCKET}"
    signature = base64.b64encode(hmac.new(SECRET.encode(), text.encode(), hashlib.sha1).digest()).decode()
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("PUT", f"/{BUCKET}", headers={"Date": date, "Authorization": f"AWS {ACCESS_KEY}:{signature}"})
    response = connection.getresponse()
    if response.status not in (200, 409):  # 409: an earlier start has created it
        sys.exit(f"the server refuses to create the bucket: {response.status} {response.read().decode()}")
    connection.close()


def main(directory):
    probe = os.path.join(directory, "probe")
    open(probe, "w").close()
    try:
        os.setxattr(probe, "user.swift.probe", b"1")
    except OSError as error:
        sys.exit(f"the file system of {directory} has no extended attributes: {error}")
    os.unlink(probe)

    utils.eventlet_monkey_patch()
    # The log is the standard error instead of syslog.
    utils.ThreadSafeSysLogHandler = lambda **_: logging.StreamHandler(sys.stderr)
    utils.HASH_PATH_SUFFIX = b"svc"
    os.fsync = os.fdatasync = lambda _: None  # data is not synced to the disk

    disks = os.path.join(directory, "disks")
    os.makedirs(os.path.join(disks, "disk"), exist_ok=True)
    conf = {
        "swift_dir": directory, "devices": disks, "mount_check": "false", "log_level": "WARNING", "log_requests": "false",
        "conn_timeout": "30", "node_timeout": "60", "container_update_timeout": "60", "fallocate_reserve": "0"}
    for ring, module in (("account", account), ("container", container), ("object", objects)):
        sock = listen()
        builder = RingBuilder(part_power=2, replicas=1, min_part_hours=0)
        builder.add_dev({"region": 1, "zone": 1, "weight": 1, "ip": "127.0.0.1", "port": sock.getsockname()[1], "device": "disk"})
        builder.rebalance()
        builder.get_ring().save(os.path.join(directory, f"{ring}.ring.gz"))
        serve(sock, module.app_factory(conf, log_name=f"{ring}-server"))

    # The proxy listens where it did at an earlier start in this directory.
    proxy, port_file = os.path.join(directory, "proxy.conf"), os.path.join(directory, "port")
    with open(proxy, "w") as file:
        file.write(PROXY)
    app, cache = loadapp(proxy, global_conf={"swift_dir": directory}), Cache()
    sock = listen(int(open(port_file).read()) if os.path.exists(port_file) else None)
    port = sock.getsockname()[1]
    with open(port_file, "w") as file:
        file.write(str(port))
    serve(sock, lambda env, start_response: app({**env, "swift.cache": cache}, start_response))
    create_bucket(port)

    address = os.path.join(directory, "address")
    with open(f"{address}.new", "w") as file:
        print(json.dumps({
            "url": f"http://127.0.0.1:{port}/{BUCKET}", "accessKeyId": ACCESS_KEY, "secretAccessKey": SECRET,
            "region": REGION}, separators=(",", ":")), file=file)
    os.rename(f"{address}.new", address)
    # The server ends when its directory is removed.
    while os.path.exists(address):
        eventlet.sleep(1)


main(sys.argv[1])
