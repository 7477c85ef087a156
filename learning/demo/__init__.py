"""What ``manage.py demo`` fills an empty database with: invented tenants, people, personas and proposals."""
