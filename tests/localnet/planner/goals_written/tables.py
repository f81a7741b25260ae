"""The tables and texts that goals bring along. Made up."""

from typing import Final

SALES: Final = """region,status,amount
north,paid,120
south,open,80
north,paid,30
west,paid,55.5
south,paid,200
west,open,10
"""
ORDERS: Final = """order,customer,region,status,amount
1001,Adler,north,paid,310
1002,Boone,south,open,95.5
1003,Cruz,west,paid,47
1004,Diaz,north,refunded,310.5
1005,Egan,east,paid,820
1006,Frost,south,paid,64.25
1007,Gupta,west,open,150
1008,Hale,east,refunded,12
1009,Ito,north,paid,99.75
1010,Jones,south,paid,402
1011,Kim,east,open,77
1012,Lund,west,paid,230.5
"""
STAFF: Final = """name,team,site,hours
Ada,red,Oslo,38
Ben,blue,Oslo,42
Cleo,red,Turin,36
Dan,green,Turin,40
Eve,blue,Turin,30
Finn,red,Oslo,46
Gus,green,Oslo,44
"""
INCIDENTS: Final = """id,service,severity,state,minutes
A1,login,high,closed,45
A2,search,low,closed,12
A3,login,low,open,5
A4,billing,high,open,130
A5,search,medium,closed,33
A6,billing,medium,closed,64
A7,login,high,closed,21
A8,mail,low,closed,9
A9,billing,high,closed,88
"""
STOCK: Final = """part,shelf,pieces,price
bolt,A,900,0.25
nut,A,1200,0.125
gear,B,40,18.5
belt,B,75,7.25
motor,C,6,140
sensor,C,22,31.5
fuse,A,310,0.75
"""
_READINGS = [
    (f"s{n % 7}", ("hall", "yard", "roof")[n % 3], ("ok", "ok", "late", "ok", "lost")[n % 5], (37 * n) % 101 + n / 4)
    for n in range(60)
]
READINGS: Final = "sensor,place,state,value\n" + "".join(
    f"{sensor},{place},{state},{value:g}\n" for sensor, place, state, value in _READINGS
)
MEMO: Final = (
    "The press stops every night at two. The night shift restarts the press by hand. "
    "A filter in the press clogs when the hall is cold. Nobody has changed the filter since spring. "
    "The hall is cold at night because the heating stops at midnight. Orders are late twice a week."
)
REVIEW: Final = (
    "The new login page is fast. Some customers cannot find the button for a new password. "
    "The password mail arrives late. Customers who wait for the password mail call the help desk. "
    "The help desk counts forty such calls a day! Should the mail be sent at once? "
    "The login page could say that the mail may take a minute."
)
TRAVEL: Final = (
    "The delegation leaves on Monday. Trains to the coast are full on Monday. "
    "A bus to the coast leaves every hour. The bus takes longer than the trains but has free seats. "
    "Hotels at the coast are cheap in winter."
)
